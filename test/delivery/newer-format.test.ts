import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compressEvents, encodeBundleHeader } from '../../src/delivery/bundle/format.ts';
import { EventPacker } from '../../src/delivery/packing.ts';
import { PostriderError } from '../../src/errors.ts';
import { envelopeHeader } from '../../src/event/envelope.ts';
import { TakenRecord } from '../../src/kafka/consume/taken-record.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { defaultPolicy, hangs, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

/** Nothing in it is as this release knows it. */
const newer = '{"v":3,"to":"crm","what":["else"]}';
const value = Buffer.from('not even JSON');

/** What is written from now on. */
function recorded(world: SimulatedWorld): OutgoingRecord[] {
  const records: OutgoingRecord[] = [];
  world.readerOf = (record) => (records.push(record), world);
  return records;
}

function takeNewer(world: SimulatedWorld, topic = 'delivery'): void {
  world.take({ topic, key: 'crm:u1', value, headers: { [envelopeHeader]: newer } });
}

describe('a record that a newer release wrote', () => {
  test('waits in the retry topics as it is, longer each time, and is never a dead letter', async () => {
    const world = new SimulatedWorld({ policy: { ...defaultPolicy, maxAgeMs: 2 * hourMs } });
    world.addDestination('crm');
    const records = recorded(world);
    takeNewer(world);
    await world.clock.pass(10 * hourMs);
    assert.deepEqual(world.deadLetters, []);
    const topics = records.map(({ topic }) => topic);
    const tiers = ['10s', '1m', '5m', '15m', '30m', '1h'].map((tier) => `retry.${tier}`);
    assert.deepEqual(topics.slice(0, 7), [...tiers, 'retry.1h']);
    // Of the longest tier one copy each 66 minutes.
    assert.ok(records.length < 10 + tiers.length, `${records.length} copies`);
    for (const record of records) {
      const { key } = record;
      const header = record.headers?.[envelopeHeader];
      assert.deepEqual([String(key), record.value, String(header)], ['crm:u1', value, newer]);
    }
    assert.equal(world.metrics.deferrals.get('newer-format'), records.length);
  });

  test('comes to other partitions, where a worker may read it', async () => {
    const world = new SimulatedWorld({ partitions: 12 });
    const records = recorded(world);
    for (let n = 0; n < 20; n++) takeNewer(world);
    await world.clock.pass(minuteMs);
    const partitions = new Set(records.map((record) => world.partitionOf(record)));
    assert.ok(partitions.size > 4, `${partitions.size} partitions`);
  });

  test('holds nobody up, whatever topic it is in', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    for (const topic of ['delivery', 'retry.10s', 'delivery.crm']) {
      takeNewer(world, topic);
      assert.equal(world.inWork(topic), 1);
      const behind = world.publish('crm', 'u1', {}, topic);
      await world.clock.pass(12_000);
      assert.ok(world.delivered.includes(behind));
    }
    assert.equal(world.inWork('delivery') + world.inWork('delivery.crm'), 0);
  });

  test('is told from one that nobody can read, which is a dead letter as soon as it is read', async () => {
    const world = new SimulatedWorld();
    const headers = { [envelopeHeader]: 'no envelope' };
    const taken = world.taken({ topic: 'retry.1h', key: 'crm:u1', value, headers });
    const { topic, partition, offset, key, value: body, owner, slot } = taken;
    const timestampMs = world.clock.now();
    const read = {
      topic,
      partition,
      offset,
      timestampMs,
      key,
      value: body,
      headers: taken.headers,
    };
    const record = new TakenRecord(read, owner, slot);
    world.engine.take(world.claim('retry.1h'), [record]);
    await world.clock.pass(1_000);
    assert.equal(world.deadLetters.length, 1);
  });

  test('becomes a dead letter where no retry topic takes it', async () => {
    const world = new SimulatedWorld();
    const refused = new PostriderError('record-refused', 'too large');
    world.refuses = (topic) => (topic.startsWith('retry') ? refused : undefined);
    takeNewer(world);
    await world.clock.pass(minuteMs);
    assert.deepEqual(
      world.letters.map(({ headers }) => String(headers?.[envelopeHeader])),
      [newer],
    );
    assert.equal(world.inWork('delivery'), 0);
  });

  test('stays where it is when its partition has gone', async () => {
    const world = new SimulatedWorld();
    const records = recorded(world);
    takeNewer(world, 'retry.10s');
    await world.clock.pass(1_000);
    world.revoke('retry.10s');
    assert.equal(world.lose('retry.10s').length, 1);
    await world.clock.pass(minuteMs);
    assert.deepEqual(records, []);
  });
});

/** Two events of `crm` in one record, which came back. */
function bundleOf(world: SimulatedWorld): OutgoingRecord {
  const packer = new EventPacker();
  for (const user of ['u1', 'u2'])
    packer.add(Buffer.from(`crm:${user}`), world.envelopeFor('crm'), Buffer.from('{}'));
  const [nowMs, events] = [world.clock.now(), 2];
  const header = encodeBundleHeader({
    destinationId: 'crm',
    events,
    dueMs: nowMs,
    deadlineMs: nowMs + hourMs,
    oldestMs: nowMs,
  });
  const headers = { [envelopeHeader]: header };
  return { topic: 'retry.10s', key: 'crm:u1', value: compressEvents(packer.packed), headers };
}

describe('events that are put off together again', () => {
  async function away(): Promise<SimulatedWorld> {
    const world = new SimulatedWorld();
    world.addDestination('crm', { maxInFlight: 5 });
    world.answer = () => hangs;
    for (let n = 0; n < 5; n++) world.publish('crm', `first${n}`);
    await world.clock.pass(5_100);
    return world;
  }

  test('are written as they are', async () => {
    const world = await away();
    const bundle = bundleOf(world);
    const records = recorded(world);
    world.take(bundle);
    await world.clock.pass(1_000);
    assert.ok(records.some((record) => record.value === bundle.value || same(record, bundle)));
  });
});

function same({ value: one }: OutgoingRecord, { value: other }: OutgoingRecord): boolean {
  return Buffer.isBuffer(one) && Buffer.isBuffer(other) && one.equals(other);
}
