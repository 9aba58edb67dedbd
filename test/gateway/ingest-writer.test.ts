import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IngestWriter, type WriterEvents } from '../../src/gateway/ingest-writer.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { SimulatedClock } from '../delivery/simulated-clock.ts';
import { FakeProducer, topics } from './fakes.ts';

const record: OutgoingRecord = { topic: topics.ingest, key: 'u', value: '{}' };
/** A record of a user whose partition has no leader. */
const stuck: OutgoingRecord = { ...record, key: 'stuck' };
const ackTimeoutMs = 5_000;

class Scene implements WriterEvents {
  readonly clock = new SimulatedClock();
  readonly producer = new FakeProducer(this.clock, ackTimeoutMs);
  readonly writer = new IngestWriter({
    producer: this.producer,
    rejectedTopic: topics.ingestRejected,
    clock: this.clock,
    events: this,
  });
  /** What was said of Kafka as a whole. */
  readonly said: ('lost' | 'back')[] = [];
  /** Calls that were given up while Kafka was away, and while it was there. */
  readonly given = { away: 0, there: 0 };

  /** Kafka answers nobody, until `back`. */
  away(): void {
    this.producer.isHolding = true;
    this.producer.isAway = true;
  }

  /** Brokers answer, and acknowledge what comes now. */
  async back(): Promise<void> {
    this.producer.isHolding = false;
    this.producer.back();
    await this.clock.pass(0);
  }

  kafkaLost(): void {
    this.said.push('lost');
  }

  kafkaBack(): void {
    this.said.push('back');
  }

  givenUp(calls: number, isKafkaThere: boolean): void {
    this.given[isKafkaThere ? 'there' : 'away'] += calls;
  }

  refused(): void {
    return undefined;
  }
}

/** A write was not acknowledged in time, and brokers answer. */
async function giveUpOne({ writer, clock, producer }: Scene): Promise<void> {
  producer.isHolding = true;
  const late = writer.write([record]);
  await clock.pass(ackTimeoutMs);
  assert.equal(await late, false);
}

test('what Kafka does not acknowledge in time is given up', async () => {
  const scene = new Scene();
  const { writer, clock } = scene;
  scene.away();
  const late = writer.write([record, record]);
  await clock.pass(1_000);
  const later = writer.write([record]);
  await clock.pass(ackTimeoutMs - 1_001);
  assert.ok(writer.isAvailable);
  await clock.pass(1);
  assert.equal(await late, false);
  assert.equal(writer.isAvailable, false);
  await clock.pass(1_000);
  assert.equal(await later, false);
  assert.deepEqual(scene.given, { away: 3, there: 0 });
  assert.deepEqual(scene.said, ['lost']);
});

test('while Kafka is away, every write is turned away at once', async () => {
  const scene = new Scene();
  const { writer, clock } = scene;
  scene.away();
  const late = writer.write([record]);
  await clock.pass(ackTimeoutMs);
  assert.equal(await late, false);
  for (let second = 0; second < 60; second += 1) {
    assert.equal(writer.isAvailable, false);
    assert.equal(await writer.write([record]), false);
    await clock.pass(1_000);
  }
  await scene.back();
  assert.ok(writer.isAvailable);
  assert.equal(await writer.write([record]), true);
  assert.deepEqual(scene.said, ['lost', 'back']);
});

test('after an outage one write finds out whether Kafka acknowledges, and the others are turned away', async () => {
  const scene = new Scene();
  const { writer, producer } = scene;
  await giveUpOne(scene);
  assert.ok(writer.isAvailable);
  const probe = writer.write([record]);
  assert.equal(writer.isAvailable, false);
  assert.equal(await writer.write([record]), false);
  for (const acknowledge of producer.held.splice(0)) acknowledge();
  assert.equal(await probe, true);
  assert.ok(writer.isAvailable);
  const both = [writer.write([record]), writer.write([record])];
  assert.ok(writer.isAvailable);
  for (const acknowledge of producer.held.splice(0)) acknowledge();
  assert.deepEqual(await Promise.all(both), [true, true]);
});

test('after an outage, a write for a partition that stays away turns others away for a moment only', async () => {
  const scene = new Scene();
  const { writer, clock, producer } = scene;
  producer.leaderless.add('stuck');
  await giveUpOne(scene);
  producer.isHolding = false;
  const probe = writer.write([stuck]);
  assert.equal(await writer.write([record]), false);
  await clock.pass(500);
  assert.equal(await writer.write([record]), true);
  assert.ok(writer.isAvailable);
  await clock.pass(ackTimeoutMs);
  assert.equal(await probe, false);
  assert.deepEqual(scene.said, ['lost', 'back'], 'Kafka counts as away once');
});

test('while Kafka takes connections and acknowledges nothing, few writes wait for it', async () => {
  const scene = new Scene();
  const { writer, clock, producer } = scene;
  await giveUpOne(scene);
  for (let passedMs = 0; passedMs < 4 * ackTimeoutMs; passedMs += 10) {
    void writer.write([record]);
    assert.equal(writer.isAvailable, false);
    assert.ok(producer.held.length <= 10, `${producer.held.length} writes`);
    await clock.pass(10);
  }
  assert.deepEqual(scene.said, ['lost'], 'said once');
});

test('Kafka that goes away again while a write tries it turns everybody away until brokers answer', async () => {
  const scene = new Scene();
  const { writer, clock } = scene;
  await giveUpOne(scene);
  scene.away();
  const probe = writer.write([record]);
  await clock.pass(ackTimeoutMs);
  assert.equal(await probe, false);
  await clock.pass(60_000);
  assert.equal(writer.takesWrites, false);
  await scene.back();
  assert.equal(await writer.write([record]), true);
});

test('writes that are acknowledged in time are never given up, however many follow one another', async () => {
  const scene = new Scene();
  const { writer, clock, producer } = scene;
  producer.isHolding = true;
  for (let round = 0; round < 10; round += 1) {
    const write = writer.write([record]);
    await clock.pass(ackTimeoutMs - 1);
    for (const acknowledge of producer.held.splice(0)) acknowledge();
    assert.equal(await write, true);
  }
  assert.deepEqual(scene.said, []);
});

test('a partition without a leader holds up the requests with calls for it, and no others', async () => {
  const scene = new Scene();
  const { writer, clock, producer } = scene;
  producer.leaderless.add('stuck');
  const refused: Promise<boolean>[] = [];
  for (let second = 0; second < 60; second += 1) {
    refused.push(writer.write([record, stuck]));
    for (let tenth = 0; tenth < 10; tenth += 1) {
      assert.ok(writer.isAvailable, `${second} s later`);
      assert.equal(await writer.write([record]), true);
      await clock.pass(100);
    }
  }
  await clock.pass(ackTimeoutMs);
  assert.deepEqual(new Set(await Promise.all(refused)), new Set([false]));
  assert.deepEqual(scene.said, []);
  assert.deepEqual(scene.given, { away: 0, there: 120 });
});

test('Kafka that goes away behind a partition that went before is given up in time', async () => {
  const scene = new Scene();
  const { writer, clock, producer } = scene;
  producer.leaderless.add('stuck');
  void writer.write([stuck]);
  await clock.pass(ackTimeoutMs - 1_000);
  assert.equal(await writer.write([record]), true);
  scene.away();
  const late = writer.write([record]);
  await clock.pass(ackTimeoutMs);
  assert.equal(await late, false);
  assert.equal(writer.isAvailable, false);
  assert.deepEqual(scene.given, { away: 1, there: 1 });
  await scene.back();
  assert.equal(await writer.write([record]), true);
});
