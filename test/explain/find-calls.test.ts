import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCalls, type FoundRecords } from '../../src/explain/find-calls.ts';
import { TopicReader } from '../../src/explain/topic-reader.ts';
import type { KafkaAdmin } from '../../src/kafka/admin.ts';
import type { KafkaClient } from '../../src/kafka/client.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import type { OwnSources } from '../../src/resources/config/config-history.ts';
import { noRegistry } from '../../src/schemas/schemas.ts';
import { createTopology } from '../../src/topology.ts';
import { FakeBrokers } from '../kafka/fake-brokers.ts';

const topology = createTopology({
  prefix: '',
  partitions: 1,
  replicationFactor: 1,
  retryTiersMs: [1_000],
  extraIngestTopics: [],
});
const topic = topology.topics.ingest;

/** Notes how many records it has held at a time. */
class NotingReader extends TopicReader {
  mostHeld = 0;

  override async find(
    ...args: Parameters<TopicReader['find']>
  ): Promise<readonly IncomingRecord[]> {
    const found = await super.find(...args);
    this.mostHeld = Math.max(this.mostHeld, found.length);
    return found;
  }
}

function call(messageId: unknown): string {
  return JSON.stringify({ type: 'track', event: 'Bought', messageId, userId: 'u1', plan: 'track' });
}

async function find(
  messageId: string,
  values: readonly string[],
  { signal, ownSources }: { signal?: AbortSignal; ownSources?: OwnSources } = {},
): Promise<FoundRecords & { readonly mostHeld: number }> {
  const brokers = new FakeBrokers(1);
  const [log] = brokers.makeTopic(topic, 1);
  for (let at = 0; at < values.length; at += 100) log?.append(...values.slice(at, at + 100));
  const reader = new NotingReader({
    kafka: brokers as unknown as KafkaClient,
    admin: {
      offsets: () => Promise.resolve([{ partition: 0, start: 0, end: values.length }]),
      offsetsAt: () => Promise.resolve([0]),
    } as unknown as KafkaAdmin,
    topics: new Set([topic]),
    messageId,
    signal,
  });
  const known = { topology, schemas: noRegistry, nowMs: Date.now(), routed: new Map() };
  const deps = { ...known, reader, ownSources };
  const question = { messageId, user: undefined, sinceMs: undefined, dedupeWindowMs: 1_000 };
  return { ...(await findCalls(deps, question)), mostHeld: reader.mostHeld };
}

const ids = Array.from({ length: 3_000 }, (_, n) => `m-${n}`);

for (const messageId of ['1', 'track', 'u1', 'userId', 'messageId'])
  test(`a text that is in every call and the id of none finds nothing and holds nothing: ${messageId}`, async () => {
    const { calls, mostHeld } = await find(messageId, ids.map(call));
    assert.deepEqual([calls.length, mostHeld], [0, 0]);
  });

test('an id that is short, odd, a number or written with escapes is found', async () => {
  for (const [messageId, value] of [
    ['1', call('1')],
    ['"\n', call('"\n')],
    ['7', call(7)],
    ['wörld', call('w\u00f6rld').replace('ö', '\\u00f6')],
  ] as const) {
    const { calls } = await find(messageId, [...ids.slice(0, 200).map(call), value]);
    assert.equal(calls.length, 1, messageId);
  }
});

test('a call of another source with the same id is none of those that a destination asks for', async () => {
  const from = (writeKey: string): string =>
    JSON.stringify({ ...(JSON.parse(call('same')) as object), writeKey });
  const values = ['wk-theirs', 'wk-own', 'wk-theirs'].map(from);
  const ownSources = { ids: new Set(['own']), writeKeys: new Set(['wk-own']) };
  const { calls, first } = await find('same', values, { ownSources });
  assert.deepEqual([calls.length, first?.read.writeKey], [1, 'wk-own']);
  assert.equal((await find('same', values)).calls.length, 3);
});

test('a call that is no JSON is found by what it names', async () => {
  const { calls } = await find('m-7', [`${call('m-7')} and more`, call('m-8')]);
  assert.deepEqual(
    calls.map(({ rejection }) => rejection?.reason),
    ['invalid-json'],
  );
});

test('of an id that thousands of calls have, it is said how to ask', async () => {
  await assert.rejects(find('same', Array<string>(2_001).fill(call('same'))), {
    code: 'input-invalid',
    message:
      'more than 2000 records have the message id same; ask with the user of the call, or for a shorter time',
  });
});

test('of hundreds of calls with one id, the content of one is held', async () => {
  const objects = Array<unknown>(10_000).fill({});
  const large = JSON.stringify({
    ...(JSON.parse(call('same')) as object),
    writeKey: 'wk',
    context: { objects },
  });
  const { calls, first } = await find('same', Array<string>(500).fill(large));
  assert.equal(calls.length, 500);
  assert.equal(calls.filter(({ duplicateOf }) => duplicateOf !== undefined).length, 499);
  assert.ok(heldObjects(calls) < 10_000);
  assert.ok(heldObjects(first) > 10_000);
});

test('of an id that calls with too many bytes have, it is said how to ask', async () => {
  const large = JSON.stringify({
    ...(JSON.parse(call('same')) as object),
    filler: 'x'.repeat(30_000),
  });
  await assert.rejects(find('same', Array<string>(1_000).fill(large)), {
    code: 'input-invalid',
    message:
      'records with more than 24 MB have the message id same; ask with the user of the call, or for a shorter time',
  });
});

function heldObjects(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, each) => sum + heldObjects(each), 1);
}

for (const messageId of ['m-1', 'of-no-call'])
  test(`nothing more is read once nobody waits: ${messageId}`, async () => {
    const signal = AbortSignal.abort();
    await assert.rejects(find(messageId, ids.map(call), { signal }), { code: 'stopped' });
  });

for (const sought of ['cut\ud83d', 'cut\ufffd', 'cut\\ud83d'])
  test(`an id with half an emoji is found as ${JSON.stringify(sought)}`, async () => {
    const { calls } = await find(sought, [call('cut'), call('cut\ud83d'), call('cut\ud83d\ude00')]);
    assert.deepEqual(
      calls.map(({ place }) => place.offset),
      [1],
    );
  });
