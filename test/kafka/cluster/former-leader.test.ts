import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createKafka } from '../../../src/kafka/client.ts';
import { ByteWriter } from '../../../src/kafka/protocol/fields.ts';
import { Cursor } from '../../../src/kafka/fetch/cursor.ts';
import { Fetcher } from '../../../src/kafka/fetch/fetcher.ts';
import { startFollower } from '../../../src/kafka/follow/follower.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { readRange } from '../../../src/kafka/read-range.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { eventually } from '../../harness/eventually.ts';
import { FakeLog } from '../fake-log.ts';
import { Owner } from '../fetch/fetch-scene.ts';
import { passTime } from '../fetch/passing-time.ts';
import {
  apiVersionsKey,
  describedBy,
  epochEndKey,
  fetchKey,
  initProducerIdKey,
  listOffsetsKey,
  metadataKey,
  produceKey,
  startWireBroker,
  versionsAnswer,
} from '../wire-broker.ts';

const topicId = 'ab'.repeat(16);

/** What one broker takes for the partition. */
interface View {
  readonly leader: number;
  readonly log: FakeLog;
  /** From here on, the first fetch brings everything; the next ones bring nothing. */
  readonly from: number;
  /** It has nothing of the position that is asked for. */
  readonly isOutOfRange?: boolean;
}

test('a range is read on with the present leader, though the first broker that was asked takes itself for it', async (t) => {
  const former = await startFormerLeader(t);
  const kafka = createKafka({ brokers: [former], clientId: 'test' }, silentLogger);
  const values: string[] = [];
  const ranges = [{ partition: 0, start: 0, end: 2 }];
  for await (const { value } of readRange(kafka, { topic: 't', ranges }))
    values.push(String(value));
  assert.deepEqual(values, ['a', 'b']);
});

test('a follower hears of the present leader, though it has asked the former one alone', async (t) => {
  const former = await startFormerLeader(t);
  const kafka = createKafka({ brokers: [former], clientId: 'test' }, silentLogger);
  const values: string[] = [];
  const follower = startFollower(kafka, {
    topic: 't',
    log: silentLogger,
    from: () => 0,
    onRecord: ({ value }) => values.push(String(value)),
  });
  t.after(() => follower.stop());
  await eventually(() => {
    assert.deepEqual(values, ['a', 'b']);
  }, 10_000);
});

test('what the former leader cannot replicate is written by the present one, though nobody else was asked before', async (t) => {
  const log = new FakeLog(1);
  log.lead(2);
  const ports: number[] = [];
  const former = await startBroker(t, ports, { leader: 1, log: new FakeLog(1), from: 0 });
  await startBroker(t, ports, { leader: 2, log, from: 0 });
  const kafka = createKafka({ brokers: [former], clientId: 'test' }, silentLogger);
  const producer = await createProducer(kafka, { log: silentLogger });
  t.after(async () => producer.close(0));
  let isWritten = false;
  producer.produce({ topic: 't', key: null, value: 'a' }, (refused) => {
    isWritten = refused === undefined;
  });
  await eventually(() => {
    assert.equal(isWritten, true);
  }, 5_000);
});

test('a position that the former leader does not have is read on with the present one, and is not moved back', async (t) => {
  const [formerLog, log] = [new FakeLog(1), new FakeLog(1)];
  for (const each of [formerLog, log]) each.append('a');
  log.lead(2);
  log.append('b');
  log.append('c');
  const ports: number[] = [];
  const refusing = { leader: 1, log: formerLog, from: 0, isOutOfRange: true };
  const former = await startBroker(t, ports, refusing);
  await startBroker(t, ports, { leader: 2, log, from: 2 });
  const owner = startFetcher(t, former, new Cursor({ topic: 't', partition: 0 }, 2, 1_000_000, 1));
  await eventually(() => {
    assert.equal(owner.of(0), 'c');
  }, 5_000);
  assert.deepEqual(owner.told, []);
});

test('a consumer hears of the present leader, though it is connected to the former one alone and misses nothing', async (t) => {
  const former = await startFormerLeader(t);
  const pass = passTime(t);
  const owner = startFetcher(t, former, new Cursor({ topic: 't', partition: 0 }, 0, 1_000_000));
  await eventually(() => {
    assert.ok(owner.reachedAtMs.has(0));
  }, 5_000);
  assert.equal(owner.of(0), 'a');
  pass(15_000);
  await eventually(() => {
    assert.equal(owner.of(0), 'a b');
  }, 5_000);
});

function startFetcher(t: TestContext, broker: string, cursor: Cursor): Owner {
  const kafka = createKafka({ brokers: [broker], clientId: 'test' }, silentLogger);
  const cluster = kafka.openCluster();
  const owner = new Owner();
  const fetcher = new Fetcher({
    ...{ cluster, owner, rack: '', log: silentLogger },
    maxWaitMs: () => 20,
    refreshMs: 100,
  });
  t.after(() => {
    fetcher.close();
    cluster.close();
  });
  fetcher.add(cursor);
  return owner;
}

/** The address of a broker that has the record `a`. The present leader, which it knows of, also has `b`. */
async function startFormerLeader(t: TestContext): Promise<string> {
  const formerLog = new FakeLog(1);
  formerLog.append('a');
  const log = new FakeLog(1);
  log.append('a');
  log.lead(2);
  log.append('b');
  const ports: number[] = [];
  const former = await startBroker(t, ports, { leader: 1, log: formerLog, from: 0 });
  await startBroker(t, ports, { leader: 2, log, from: 1 });
  return former;
}

/** It knows of all brokers whose ports are listed, and lists its own. */
async function startBroker(t: TestContext, ports: number[], view: View): Promise<string> {
  const { leader, log, isOutOfRange = false } = view;
  let { from } = view;
  const newest = {
    ...{ [produceKey]: 8, [fetchKey]: 13, [listOffsetsKey]: 1 },
    ...{ [metadataKey]: 12, [initProducerIdKey]: 1, [epochEndKey]: 3 },
  };
  const address = await startWireBroker(t, ({ apiKey, framed }, socket) => {
    if (apiKey === apiVersionsKey) socket.write(framed(versionsAnswer(newest)));
    if (apiKey === metadataKey)
      socket.write(
        framed(describedBy(ports, topicId, { leader, epoch: log.epoch, inSync: [1, 2] })),
      );
    if (apiKey === listOffsetsKey) socket.write(framed(endAnswer(log)));
    if (apiKey === initProducerIdKey)
      socket.write(framed(new ByteWriter(16).int32(0).int16(0).int64(1_000).int16(0).buffer));
    // The former leader reaches no replica.
    if (apiKey === produceKey) socket.write(framed(produceAnswer(leader === 1 ? timedOut : 0)));
    if (apiKey === epochEndKey) socket.write(framed(unknownEpoch()));
    if (apiKey !== fetchKey) return;
    socket.write(framed(fetchAnswer(log, from, isOutOfRange ? outOfRange : 0)));
    from = log.end;
  });
  ports.push(Number(address.split(':')[1]));
  return address;
}

/** Kafka's numbers of OFFSET_OUT_OF_RANGE and REQUEST_TIMED_OUT. */
const outOfRange = 1;
const timedOut = 7;

/** Produce, version 8. */
function produceAnswer(error: number): Buffer {
  const writer = new ByteWriter(64);
  writer.array(['t'], (name) => {
    writer.int16(name.length).bytes(Buffer.from(name));
    writer.array([0], (partition) => {
      writer.int32(partition).int16(error).int64(-1).int64(-1).int64(0);
      writer.array([], () => undefined).int16(-1);
    });
  });
  return writer.int32(0).buffer;
}

/** ListOffsets, version 1. */
function endAnswer({ end }: FakeLog): Buffer {
  const writer = new ByteWriter(64);
  writer.array(['t'], (name) => {
    writer.int16(name.length).bytes(Buffer.from(name));
    writer.array([0], (partition) => writer.int32(partition).int16(0).int64(-1).int64(end));
  });
  return writer.buffer;
}

/** OffsetForLeaderEpoch, version 3: nothing is known of the epoch that was asked for. */
function unknownEpoch(): Buffer {
  const writer = new ByteWriter(64).int32(0);
  writer.array(['t'], (name) => {
    writer.string(name).array([0], (partition) => {
      writer.int16(0).int32(partition).int32(-1).int64(-1);
    });
  });
  return writer.buffer;
}

/** Fetch, version 13: everything from this offset on. */
function fetchAnswer(log: FakeLog, offset: number, error: number): Buffer {
  const batches = error === 0 ? log.batches.filter(({ first }) => first >= offset) : [];
  const records = Buffer.concat(batches.map(({ bytes }) => bytes));
  const writer = new ByteWriter(records.length + 128).noTags().int32(0).int16(0).int32(0);
  writer.compactArray([topicId], (id) => {
    writer.uuid(id).compactArray([0], (partition) => {
      writer.int32(partition).int16(error).int64(log.end).int64(log.end).int64(0);
      writer.compactArray([], () => undefined).int32(-1);
      writer
        .uvarint(records.length + 1)
        .bytes(records)
        .noTags();
    });
    writer.noTags();
  });
  return writer.noTags().buffer;
}
