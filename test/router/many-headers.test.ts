import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRejected, sentAgain } from '../../src/dead-letter/rejected.ts';
import { BatchRecords } from '../../src/kafka/protocol/batch-records.ts';
import { writeRecords } from '../../src/kafka/protocol/batch-writer.ts';
import type { IncomingRecord, OutgoingRecord } from '../../src/kafka/record.ts';
import { topology } from '../dead-letter/letters.ts';
import { exampleDestination, exampleSource } from '../resources/examples.ts';
import { appendTimeMs, incoming, TestRouter } from './fakes.ts';

const call = JSON.stringify({ type: 'identify', userId: 'u1' });
const mostBytes = 64 * 1024;

/** Headers with a write key; the last one fills them up to so many bytes of names and values. */
function headersOf(count: number, bytes = 0): Record<string, Buffer> {
  const headers: Record<string, Buffer> = { 'write-key': Buffer.from('wk_shop') };
  for (let i = 1; i < count; i += 1) headers[`h${i}`] = Buffer.from('v');
  const used = Object.entries(headers).reduce((sum, [name, { length }]) => {
    return sum + name.length + length;
  }, 0);
  if (bytes > used) headers['h1'] = Buffer.alloc(bytes - used + 1, 'x');
  return headers;
}

/** The record as the next reader of its topic gets it. */
function readBack({ topic, key, value, headers = {} }: OutgoingRecord): IncomingRecord {
  const batch = { recordCount: 1, firstOffset: 0, lastOffset: 0, firstTimestampMs: appendTimeMs };
  const bytes = Buffer.from(writeRecords([{ key, value, headers }]));
  const read = new BatchRecords(bytes, { ...batch, appendedMs: appendTimeMs });
  assert.ok(read.next(0));
  const { offset, timestampMs, flaw } = read;
  const parts = { key: read.key, value: read.value, headers: read.headers };
  return { topic, partition: 0, offset, timestampMs, flaw, ...parts };
}

/** What the router of a deployment without sources writes. */
async function rejectedOf(headers: IncomingRecord['headers']): Promise<IncomingRecord> {
  const router = new TestRouter();
  router.take(incoming(call, { headers }));
  await router.look();
  return readBack(router.written[0]?.record ?? assert.fail('nothing is written'));
}

for (const [what, headers] of [
  ['128 headers', headersOf(128)],
  ['128 headers of 64 KB', headersOf(128, mostBytes)],
  ['64 KB in one header', headersOf(2, mostBytes)],
] as const)
  test(`a call with ${what} is rejected with its reason, can be sent again, and is routed`, async () => {
    const rejected = readRejected(await rejectedOf(headers));
    assert.equal(rejected.reason, 'unknown-write-key');
    assert.equal(rejected.detail, 'No source has the write key "wk_shop".');
    const origin = { topic: 'p.ingest', partition: 3, offset: 42, appendTimeMs };
    assert.deepEqual(rejected.origin, origin);

    const again = readBack(sentAgain(rejected, topology));
    assert.deepEqual(Object.keys(again.headers).length, Object.keys(headers).length + 1);
    const router = new TestRouter(exampleSource(), exampleDestination());
    router.take(again);
    assert.equal(router.written[0]?.record.topic, 'p.delivery');
  });

test('a call with more headers is rejected for that, without them, and the reason can be read', async () => {
  for (const [headers, detail] of [
    [headersOf(129), 'it has 129 headers, and 128 are allowed'],
    [headersOf(2, mostBytes + 1), 'its headers have 65,537 bytes, and 65,536 are allowed'],
  ] as const) {
    const rejected = readRejected(await rejectedOf(headers));
    assert.equal(rejected.reason, 'too-many-headers');
    assert.equal(rejected.detail, `The record is not read: ${detail}.`);
    assert.equal(rejected.record.headers['write-key'], undefined);
  }
});
