import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import type { Call } from '../../src/event/call.ts';
import { parseCall } from '../../src/event/parse-call.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { Duplicates } from '../../src/router/duplicates.ts';
import { RecentIds } from '../../src/router/recent-ids.ts';
import { appendTimeMs, incoming } from './fakes.ts';

const windowMs = 600_000;

/** Fields of a call, and the key that it came with. */
interface Said {
  readonly writeKey?: string;
  readonly [field: string]: unknown;
}

interface Scene {
  pushedOut: number;
  readonly duplicates: Duplicates<number>;
  /** The call's fate; one that is routed is acknowledged at once. */
  readonly take: (
    messageId: string | undefined,
    offset: number,
    changes?: object,
    source?: string,
    said?: Said,
  ) => string;
}

function scene(options: { windowMs?: number; mostIds?: number } = {}): Scene {
  const counted = { pushedOut: 0 };
  const duplicates = new Duplicates<number>({
    windowMs,
    mostIds: 1_024,
    ...options,
    onPushedOut: () => {
      counted.pushedOut += 1;
    },
  });
  return {
    get pushedOut() {
      return counted.pushedOut;
    },
    duplicates,
    take: (messageId, offset, changes = {}, source = 'shop', said = {}) => {
      const { writeKey = 'wk_shop', ...fields } = said;
      const { record, call } = read(messageId, { offset, ...changes }, fields);
      const verdict = duplicates.judge(record, source, { call, writeKey }, offset);
      if (typeof verdict === 'string') return verdict;
      verdict?.acknowledge();
      return 'routed';
    },
  };
}

function read(
  messageId: string | undefined,
  changes: object,
  fields: object,
): { record: IncomingRecord; call: Call } {
  const record = incoming({ type: 'identify', userId: 'u', ...fields, messageId }, changes);
  const { topic, partition, offset } = record;
  const { call } = parseCall(record.value, { topic, partition, offset, appendTimeMs });
  return { record, call: call ?? assert.fail() };
}

test('a call at a larger offset is a duplicate, a record that is read again is not', () => {
  const { take } = scene();
  assert.equal(take('m', 5), 'routed');
  assert.equal(take('m', 9), 'duplicate');
  assert.equal(take('m', 5), 'routed');
  assert.equal(take('m', 3), 'routed');
  assert.equal(take('m', 5), 'duplicate');
});

test('the same message id of another source, partition or topic is another call', () => {
  const { take } = scene();
  take('m', 1);
  assert.equal(take('m', 2, {}, 'other'), 'routed');
  assert.equal(take('m', 2, { partition: 4 }), 'routed');
  assert.equal(take('m', 2, { topic: 'p.web' }), 'routed');
  assert.equal(take('', 3, {}, 'shopm'), 'routed');
});

const order = {
  type: 'track',
  event: 'Order Completed',
  properties: { revenue: 39.95, items: [{ sku: 'a', count: 2 }, 'b'], paid: true, note: null },
};

for (const [what, other] of [
  ['write key', { ...order, writeKey: 'wk_page' }],
  ['user', { ...order, userId: 'v' }],
  ['anonymous id', { ...order, anonymousId: 'a' }],
  ['event', { ...order, event: 'Order Cancelled' }],
  ['type', { ...order, type: 'page' }],
  ['properties', { ...order, properties: { ...order.properties, revenue: 0 } }],
  [
    'order of items',
    { ...order, properties: { ...order.properties, items: ['b', { sku: 'a', count: 2 }] } },
  ],
  [
    'owner of a value',
    { ...order, properties: { ...order.properties, items: [{ sku: 2, count: 'a' }, 'b'] } },
  ],
  [
    'kind of a value',
    { ...order, properties: { ...order.properties, paid: 'true', note: 'null' } },
  ],
  ['traits', { ...order, traits: { plan: 'pro' } }],
] as const)
  test(`whoever guesses a message id does not take the place of its call: another ${what}`, () => {
    const { take } = scene();
    assert.equal(take('order-1001', 1, {}, 'shop', other), 'routed');
    assert.equal(take('order-1001', 2, {}, 'shop', order), 'routed');
    assert.equal(take('order-1001', 3, {}, 'shop', order), 'duplicate');
    assert.equal(take('order-1001', 4, {}, 'shop', other), 'duplicate');
  });

test('a client that sends a call again may change its times, its context and the order of its keys', () => {
  const { take } = scene();
  assert.equal(take('order-1001', 1, {}, 'shop', order), 'routed');
  const again = {
    properties: Object.fromEntries(Object.entries(order.properties).reverse()),
    event: order.event,
    type: order.type,
    timestamp: '2026-11-24T10:00:00.000Z',
    originalTimestamp: '2026-11-24T10:00:01.000Z',
    sentAt: '2026-11-24T10:00:02.000Z',
    receivedAt: '2026-11-24T10:00:03.000Z',
    context: { ip: '203.0.113.7' },
    integrations: {},
    traits: null,
  };
  assert.equal(take('order-1001', 2, {}, 'shop', again), 'duplicate');
});

test('the window runs by append time, not by when the records are read', () => {
  const { take } = scene();
  take('m', 1, { timestampMs: appendTimeMs });
  assert.equal(take('m', 2, { timestampMs: appendTimeMs + windowMs }), 'duplicate');
  assert.equal(take('m', 3, { timestampMs: appendTimeMs + windowMs + 1 }), 'routed');
  assert.equal(take('m', 4, { timestampMs: appendTimeMs + windowMs + 2 }), 'duplicate');
});

test('a call without a message id of its own takes no memory', () => {
  const { duplicates, take } = scene();
  take(undefined, 1);
  take('', 2);
  assert.equal(duplicates.ids, 0);
});

test('a window of 0 remembers nothing', () => {
  const { duplicates, take } = scene({ windowMs: 0 });
  take('m', 1);
  assert.equal(take('m', 2), 'routed');
  assert.equal(duplicates.ids, 0);
});

test('a lost partition is forgotten, the others are not', () => {
  const { duplicates, take } = scene();
  take('m', 1);
  take('m', 1, { partition: 4 });
  duplicates.drop({ topic: 'p.ingest', partition: 3 });
  assert.equal(take('m', 2), 'routed');
  assert.equal(take('m', 2, { partition: 4 }), 'duplicate');
});

test('too many ids: the oldest leave first, and are counted only if their time was not over', () => {
  const seen = scene({ mostIds: 256 });
  for (let i = 0; i < 300; i += 1) seen.take(`m${i}`, i);
  assert.equal(seen.pushedOut, 44);
  assert.equal(seen.duplicates.ids, 256);
  assert.equal(seen.take('m44', 400), 'duplicate');
  assert.equal(seen.take('m43', 401), 'routed');
  seen.take('later', 402, { timestampMs: appendTimeMs + 2 * windowMs });
  assert.equal(seen.pushedOut, 45);
  assert.equal(seen.duplicates.ids, 1);
});

test('an id of the largest size takes no more memory than a short one', () => {
  const { duplicates, take } = scene();
  const long = 'x'.repeat(1_023);
  take(long, 1);
  const { bytes } = duplicates;
  assert.equal(take(long, 2), 'duplicate');
  assert.equal(take(`${long}y`, 3), 'routed');
  assert.equal(duplicates.bytes, bytes);
});

test('40 bytes or less an id', () => {
  const ids = new RecentIds(65_536);
  for (let i = 0; i < 65_536; i += 1) ids.add({ a: i, b: 0, c: 0 }, i, appendTimeMs);
  assert.ok(ids.bytes / ids.size <= 40, `${ids.bytes / ids.size} bytes`);
});

/** A map that says the same, by the rules as they are written down. */
class Model {
  #kept: { key: string; offset: number; timeMs: number }[] = [];
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  take(key: string, offset: number, timeMs: number): string {
    while ((this.#kept[0]?.timeMs ?? Infinity) < timeMs - windowMs) this.#kept.shift();
    const seen = this.#kept.find((each) => each.key === key);
    if (seen !== undefined && seen.offset < offset && seen.timeMs >= timeMs - windowMs) {
      return 'duplicate';
    }
    if (this.#kept.length === this.#most) this.#kept.shift();
    for (const each of this.#kept) if (each.key === key) each.key = '';
    this.#kept.push({ key, offset, timeMs });
    return 'routed';
  }
}

test('any sequence of ids, offsets and times is judged as the rules say', () => {
  const step = fc.record({
    id: fc.integer({ min: 1, max: 700 }),
    jump: fc.constantFrom(1, 1, 1, 1, 1, -3),
    waitMs: fc.constantFrom(0, 0, 0, 0, 5_000, windowMs / 2, -2_000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 1_500, size: 'max' }), (steps) => {
      const { take } = scene({ mostIds: 512 });
      const model = new Model(512);
      let offset = 10;
      let timestampMs = appendTimeMs;
      for (const { id, jump, waitMs } of steps) {
        offset += jump;
        timestampMs += waitMs;
        const key = `m${id}`;
        const expected = model.take(key, offset, timestampMs);
        assert.equal(take(key, offset, { timestampMs }), expected);
      }
    }),
    { numRuns: 60 },
  );
});
