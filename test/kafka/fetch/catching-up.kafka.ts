import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import type { ClusterClient } from '../../../src/kafka/cluster/cluster.ts';
import {
  startConsumeLoop,
  type ConsumeLoopOptions,
} from '../../../src/kafka/consume/consume-loop.ts';
import type { TakenRecord } from '../../../src/kafka/consume/taken-record.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { eventually } from '../../harness/eventually.ts';
import { makeTopic, testKafka } from '../topics.ts';

const kafka = await testKafka();
const partitions = 12;
const recordsPerPartition = 5_000;
/** As large as an event, and compressed like one: part of it is in no other. */
function event(ownBytes: number): string {
  const cart = randomBytes(ownBytes).toString('hex');
  const properties = { text: 'lorem ipsum '.repeat(30), cart };
  return JSON.stringify({ type: 'track', messageId: randomUUID(), properties });
}

/** A backlog in batches of so many records each. */
async function fill(recordsPerBatch: number, ownBytes = 40): Promise<string> {
  const topic = await makeTopic(kafka, partitions);
  const raw = kafka.producer({ allowAutoTopicCreation: false });
  await raw.connect();
  for (let at = 0; at < recordsPerPartition; at += recordsPerBatch) {
    const messages = [];
    for (let partition = 0; partition < partitions; partition += 1)
      for (let i = at; i < Math.min(at + recordsPerBatch, recordsPerPartition); i += 1)
        messages.push({ partition, value: event(ownBytes) });
    await raw.send({ topic, messages, compression: kafkajs.CompressionTypes.ZSTD });
  }
  await raw.disconnect();
  return topic;
}

/** The client, and how many bytes its fetches brought; of each batch once, and in all. */
function counting(client: ClusterClient) {
  const batches = new Map<string, number>();
  const bytes = {
    fetched: 0,
    answers: 0,
    inLog: () => [...batches.values()].reduce((a, b) => a + b, 0),
  };
  const counted: ClusterClient = {
    rack: client.rack,
    openCluster: () => {
      const cluster = client.openCluster();
      const fetch = cluster.fetch.bind(cluster);
      cluster.fetch = async (nodeId, request) => {
        const answer = await fetch(nodeId, request);
        bytes.answers += 1;
        for (const { partition, records } of answer.partitions) {
          bytes.fetched += records.length;
          for (const [place, length] of batchesIn(records))
            batches.set(`${partition}/${place}`, length);
        }
        return answer;
      };
      return cluster;
    },
  };
  return { counted, bytes };
}

/** Offset and length of each batch that is there as a whole. */
function batchesIn(records: Buffer): [string, number][] {
  const found: [string, number][] = [];
  for (let at = 0; at + 12 <= records.length;) {
    const length = 12 + records.readInt32BE(at + 8);
    if (at + length > records.length) break;
    found.push([String(records.readBigInt64BE(at)), length]);
    at += length;
  }
  return found;
}

type Window = Pick<ConsumeLoopOptions, 'windowRecords' | 'windowBytes' | 'maxBytesPerPartition'>;

/** Reads all of the topic. Records are finished a turn later, so that windows fill and empty. */
async function catchUp(
  client: ClusterClient,
  topic: string,
  window: Window = { windowRecords: 1_024, windowBytes: 10_000_000 },
): Promise<{ most: number }> {
  let received = 0;
  let most = 0;
  const finishLater = async (records: readonly TakenRecord[]): Promise<void> => {
    received += records.length;
    await turn();
    most = Math.max(most, loop.inFlightRecords);
    for (const record of records) record.finish();
  };
  const options: ConsumeLoopOptions = {
    groupId: `${topic}.group`,
    topics: [topic],
    ...window,
    clock: systemClock,
    log: silentLogger,
    onRecords: (records) => void finishLater(records),
  };
  const loop = startConsumeLoop(client, options);
  await eventually(() => {
    assert.equal(received, partitions * recordsPerPartition);
  });
  await loop.stop(5_000);
  return { most };
}

for (const recordsPerBatch of [20, 100, 500])
  test(`who catches up with batches of ${recordsPerBatch} records fetches hardly a byte twice`, async () => {
    const topic = await fill(recordsPerBatch);
    const { counted, bytes } = counting(kafka);
    const { most } = await catchUp(counted, topic);
    const ratio = bytes.fetched / bytes.inLog();
    assert.ok(ratio <= 1.2, `${ratio.toFixed(2)} times the log in ${bytes.answers} answers`);
    assert.ok(most <= partitions * (1_024 + 128), `${most} in flight`);
  });

/** One batch fits, and most of a second one. */
for (const { recordsPerBatch, maxBytesPerPartition } of [
  { recordsPerBatch: 100, maxBytesPerPartition: 32 * 1_024 },
  { recordsPerBatch: 500, maxBytesPerPartition: 192 * 1_024 },
])
  test(`batches of ${recordsPerBatch} records are hardly fetched twice where only one fits into an answer`, async () => {
    const topic = await fill(recordsPerBatch, 170);
    const { counted, bytes } = counting(kafka);
    const window = { windowRecords: 1_024, windowBytes: 4 * 1_024 * 1_024, maxBytesPerPartition };
    await catchUp(counted, topic, window);
    const ratio = bytes.fetched / bytes.inLog();
    assert.ok(ratio <= 1.2, `${ratio.toFixed(2)} times the log in ${bytes.answers} answers`);
  });

test('windows that stay full for long cost no byte either', async () => {
  const topic = await fill(500);
  const { counted, bytes } = counting(kafka);
  const waiting: TakenRecord[] = [];
  let received = 0;
  const loop = startConsumeLoop(counted, {
    groupId: `${topic}.group`,
    topics: [topic],
    windowRecords: 256,
    windowBytes: 10_000_000,
    clock: systemClock,
    log: silentLogger,
    onRecords: (records) => {
      received += records.length;
      waiting.push(...records);
    },
  });
  await eventually(() => {
    // Little at a time: windows fill, rest, and resume again and again.
    for (const record of waiting.splice(0, 1_000)) record.finish();
    assert.equal(received, partitions * recordsPerPartition);
  });
  await loop.stop(0);
  const ratio = bytes.fetched / bytes.inLog();
  assert.ok(ratio <= 1.2, `${ratio.toFixed(2)} times the log`);
});
