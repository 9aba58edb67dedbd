import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostriderError } from '../../src/errors.ts';
import { IngestWriter, type WriterEvents } from '../../src/gateway/ingest-writer.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { SimulatedClock } from '../delivery/simulated-clock.ts';
import { FakeProducer, topics } from './fakes.ts';

const record: OutgoingRecord = { topic: topics.ingest, key: 'u', value: '{}' };
/** Of a user whose partition has no leader. */
const stuck: OutgoingRecord = { ...record, key: 'stuck' };
const ackTimeoutMs = 5_000;

class Scene implements WriterEvents {
  readonly clock = new SimulatedClock();
  readonly producers: FakeProducer[] = [];
  readonly lost: number[] = [];
  readonly late: number[] = [];
  /** Users whose partition no producer gets acknowledged. */
  leaderless: readonly string[] = [];
  readonly failures: unknown[] = [];
  /** Thrown instead of opening a producer. */
  defect: Error | undefined;
  writer!: IngestWriter;
  /** While true, Kafka cannot be reached: opening a producer waits. */
  isAway = false;
  #waiting: (() => void)[] = [];

  async open(): Promise<this> {
    this.writer = await IngestWriter.open({
      openProducer: async () => {
        if (this.defect !== undefined) throw this.defect;
        if (this.isAway) await new Promise<void>((resolve) => this.#waiting.push(resolve));
        const producer = new FakeProducer();
        for (const user of this.leaderless) producer.leaderless.add(user);
        this.producers.push(producer);
        return producer;
      },
      rejectedTopic: topics.ingestRejected,
      ackTimeoutMs,
      clock: this.clock,
      events: this,
    });
    return this;
  }

  /** Kafka can be reached again. */
  back(): void {
    this.isAway = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  kafkaLost(calls: number): void {
    this.lost.push(calls);
  }

  someLost(calls: number): void {
    this.late.push(calls);
  }

  kafkaBack(): void {
    return undefined;
  }

  reopenFailed(error: unknown): void {
    this.failures.push(error);
  }

  refused(): void {
    return undefined;
  }
}

/** A write was not acknowledged, so that another producer was opened. */
async function giveUpOne({ writer, clock, producers }: Scene): Promise<void> {
  (producers[0] as FakeProducer).isHolding = true;
  const late = writer.write([record]);
  await clock.pass(ackTimeoutMs);
  assert.equal(await late, false);
}

test('what Kafka does not acknowledge in time is given up, and its producer with it', async () => {
  const scene = await new Scene().open();
  const { writer, clock, producers } = scene;
  const [first] = producers;
  assert.ok(first);
  first.isHolding = true;
  scene.isAway = true;
  const late = writer.write([record, record]);
  await clock.pass(1_000);
  const later = writer.write([record]);
  await clock.pass(ackTimeoutMs - 1_001);
  assert.ok(writer.isAvailable);
  await clock.pass(1);
  assert.deepEqual([await late, await later], [false, false]);
  assert.ok(first.isClosed, 'the producer keeps what it holds');
  assert.deepEqual(scene.lost, [3]);
});

test('a clock that is set makes nothing late, and nothing wait longer', async () => {
  const scene = await new Scene().open();
  const { writer, clock, producers } = scene;
  (producers[0] as FakeProducer).isHolding = true;
  scene.isAway = true;
  const late = writer.write([record]);
  await clock.pass(ackTimeoutMs / 2);
  clock.set(3_600_000);
  await clock.pass(ackTimeoutMs / 2 - 1);
  assert.ok(writer.isAvailable);
  clock.set(-7_200_000);
  await clock.pass(1);
  assert.equal(await late, false);
});

test('while Kafka is away, every write is turned away at once', async () => {
  const scene = await new Scene().open();
  const { writer, clock, producers } = scene;
  (producers[0] as FakeProducer).isHolding = true;
  scene.isAway = true;
  const late = writer.write([record]);
  await clock.pass(ackTimeoutMs);
  assert.equal(await late, false);
  assert.equal(writer.isAvailable, false);
  assert.equal(await writer.write([record]), false);
  scene.back();
  await clock.pass(0);
  assert.ok(writer.isAvailable);
  assert.equal(await writer.write([record]), true);
});

test('a producer that cannot be opened again is said, and tried until it can be', async () => {
  const scene = await new Scene().open();
  const { writer, clock, producers, failures } = scene;
  (producers[0] as FakeProducer).isHolding = true;
  scene.defect = new Error('no producer');
  const late = writer.write([record]);
  await clock.pass(ackTimeoutMs);
  assert.equal(await late, false);
  await clock.pass(60_000);
  assert.ok(failures.length > 10 && failures.length < 100, `${failures.length} failures`);
  assert.equal(writer.isAvailable, false);
  scene.defect = undefined;
  await clock.pass(1_000);
  assert.equal(await writer.write([record]), true);
});

test('after an outage one write finds out whether Kafka acknowledges, and the others are turned away', async () => {
  const scene = await new Scene().open();
  const { writer, producers } = scene;
  await giveUpOne(scene);
  const second = producers[1] as FakeProducer;
  second.isHolding = true;
  assert.ok(writer.isAvailable);
  const probe = writer.write([record]);
  assert.equal(writer.isAvailable, false);
  assert.equal(await writer.write([record]), false);
  for (const acknowledge of second.held.splice(0)) acknowledge();
  assert.equal(await probe, true);
  assert.ok(writer.isAvailable);
  const both = [writer.write([record]), writer.write([record])];
  assert.ok(writer.isAvailable);
  for (const acknowledge of second.held.splice(0)) acknowledge();
  assert.deepEqual(await Promise.all(both), [true, true]);
});

test('after an outage, a write for a partition that stays away turns others away for a moment only', async () => {
  const scene = await new Scene().open();
  const { writer, clock, lost } = scene;
  scene.leaderless = ['stuck'];
  await giveUpOne(scene);
  const probe = writer.write([stuck]);
  assert.equal(await writer.write([record]), false);
  await clock.pass(500);
  assert.equal(await writer.write([record]), true);
  assert.ok(writer.isAvailable);
  await clock.pass(ackTimeoutMs);
  assert.equal(await probe, false);
  assert.deepEqual(lost, [1], 'Kafka counts as away once');
});

test('while Kafka takes connections and acknowledges nothing, few writes wait for it', async () => {
  const scene = await new Scene().open();
  const { writer, clock, producers } = scene;
  await giveUpOne(scene);
  const second = producers[1] as FakeProducer;
  second.isHolding = true;
  for (let passedMs = 0; passedMs < ackTimeoutMs; passedMs += 10) {
    void writer.write([record]);
    assert.equal(writer.isAvailable, false);
    await clock.pass(10);
  }
  assert.ok(second.held.length <= 10, `${second.held.length} writes`);
});

test('an acknowledgement that comes after its write was given up changes nothing', async () => {
  const scene = await new Scene().open();
  const { writer, clock, producers } = scene;
  const [first] = producers as [FakeProducer];
  first.isHolding = true;
  const late = writer.write([record]);
  await clock.pass(ackTimeoutMs);
  for (const acknowledge of first.held.splice(0)) acknowledge();
  assert.equal(await late, false);
  assert.equal(await writer.write([record]), true);
});

test('writes that are acknowledged in time are never given up, however many follow one another', async () => {
  const scene = await new Scene().open();
  const { writer, clock, producers } = scene;
  const [first] = producers as [FakeProducer];
  first.isHolding = true;
  for (let round = 0; round < 10; round += 1) {
    const write = writer.write([record]);
    await clock.pass(ackTimeoutMs - 1);
    for (const acknowledge of first.held.splice(0)) acknowledge();
    assert.equal(await write, true);
  }
  assert.deepEqual(scene.lost, []);
});

test('a partition without a leader holds up the requests with calls for it, and no others', async () => {
  const scene = new Scene();
  scene.leaderless = ['stuck'];
  const { writer, clock, lost } = await scene.open();
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
  assert.deepEqual(lost, []);
});

test('what a partition without a leader was to get is not kept', async () => {
  const scene = new Scene();
  scene.leaderless = ['stuck'];
  const { writer, clock, producers } = await scene.open();
  for (let tenth = 0; tenth < 600; tenth += 1) {
    void writer.write([stuck]);
    void writer.write([record]);
    await clock.pass(100);
  }
  const open = producers.filter(({ isClosed }) => !isClosed);
  assert.ok(open.length <= 2, `${open.length} producers`);
  assert.ok(producers.length <= 14, `${producers.length} producers`);
  const held = open.reduce((sum, producer) => sum + producer.held.length, 0);
  assert.ok(held <= 110, `${held} records`);
});

test('a write that its producer was given just before another took its place has its time', async () => {
  const scene = new Scene();
  const { writer, clock, producers } = await scene.open();
  const [first] = producers as [FakeProducer];
  first.leaderless.add('stuck').add('slow');
  const late = writer.write([stuck]);
  await clock.pass(ackTimeoutMs - 1_000);
  assert.equal(await writer.write([record]), true);
  const slow = writer.write([{ ...record, key: 'slow' }]);
  await clock.pass(1_000);
  assert.equal(await late, false);
  assert.equal(producers.length, 2);
  for (const acknowledge of first.held.splice(0)) acknowledge();
  assert.equal(await slow, true);
});

test('a call that is refused after another producer has taken over is written as rejected', async () => {
  const scene = new Scene();
  const { writer, clock, producers } = await scene.open();
  const [first] = producers as [FakeProducer];
  first.leaderless.add('stuck').add('large');
  first.refuses = ({ key }) =>
    key === 'large' ? new PostriderError('record-refused', 'too large') : undefined;
  const late = writer.write([stuck]);
  await clock.pass(ackTimeoutMs - 1_000);
  assert.equal(await writer.write([record]), true);
  const large = writer.write([{ ...record, key: 'large' }]);
  await clock.pass(1_000);
  assert.equal(await late, false);
  assert.ok(first.isClosed);
  for (const refuse of first.held.splice(0)) refuse();
  assert.equal(await large, true);
  assert.equal(producers[1]?.records[0]?.topic, topics.ingestRejected);
});

test('Kafka that goes away behind a partition that went before is given up in time', async () => {
  const scene = new Scene();
  scene.leaderless = ['stuck'];
  const { writer, clock, producers, lost } = await scene.open();
  const [first] = producers as [FakeProducer];
  void writer.write([stuck]);
  await clock.pass(ackTimeoutMs - 1_000);
  assert.equal(await writer.write([record]), true);
  first.isHolding = true;
  scene.isAway = true;
  const late = writer.write([record]);
  await clock.pass(ackTimeoutMs);
  assert.equal(await late, false);
  assert.equal(writer.isAvailable, false);
  assert.deepEqual(lost, [1]);
  scene.back();
  await clock.pass(0);
  assert.equal(await writer.write([record]), true);
});

test('while no other producer can be opened, the one there is goes on, and holds little', async () => {
  const scene = new Scene();
  scene.leaderless = ['stuck'];
  const { writer, clock, producers, lost } = await scene.open();
  scene.isAway = true;
  for (let second = 0; second < 60; second += 1) {
    void writer.write([stuck]);
    assert.equal(await writer.write([record]), true);
    await clock.pass(1_000);
  }
  assert.deepEqual(lost, []);
  const large = { ...stuck, value: 'x'.repeat(1_000_000) };
  for (let second = 0; second < 60; second += 1) {
    void writer.write([large]);
    void writer.write([record]);
    await clock.pass(1_000);
  }
  assert.ok(producers[0]?.isClosed);
  assert.equal(writer.isAvailable, false);
  scene.back();
  await clock.pass(0);
  assert.equal(await writer.write([record]), true);
  assert.equal(producers.length, 2);
});
