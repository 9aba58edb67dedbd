import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IngestWriter, type WriterEvents } from '../../src/gateway/ingest-writer.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { SimulatedClock } from '../delivery/simulated-clock.ts';
import { FakeProducer, topics } from './fakes.ts';

const record: OutgoingRecord = { topic: topics.ingest, key: 'u', value: '{}' };
const ackTimeoutMs = 5_000;

class Scene implements WriterEvents {
  readonly clock = new SimulatedClock();
  readonly producers: FakeProducer[] = [];
  readonly lost: number[] = [];
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
  const { writer, clock, producers } = scene;
  (producers[0] as FakeProducer).isHolding = true;
  const late = writer.write([record]);
  await clock.pass(ackTimeoutMs);
  assert.equal(await late, false);
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
