import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { eventTypes } from '../../src/event/call.ts';
import {
  decodeEnvelope,
  deliveryKey,
  encodeEnvelope,
  type Envelope,
  userOf,
} from '../../src/event/envelope.ts';
import { anyJson, callOf } from './some-calls.ts';
import { wholeEnvelope } from './whole-envelope.ts';

const fresh: Envelope = {
  destinationId: 'crm',
  sourceId: 'shop',
  messageId: 'm-1',
  type: 'track',
  configOffset: 17,
  appendTimeMs: 1_763_700_000_000,
  attempts: 0,
};

const latestTimeMs = new Date(8.64e15).getTime();
const anyTime = fc.maxSafeNat().map((ms) => Math.min(ms, latestTimeMs));
const text = fc.string({ unit: 'binary', minLength: 1 });
const surrogates = fc.constantFrom('\ud800', 'a"b', 'a\\b', '\u0000', '\u007f', 'ä', '😀');
const anyEnvelope: fc.Arbitrary<Envelope> = fc.record(
  {
    destinationId: fc.oneof(fc.stringMatching(/^[a-z0-9-]+$/), surrogates),
    sourceId: fc.oneof(fc.stringMatching(/^[a-z0-9-]+$/), surrogates),
    messageId: fc.oneof(fc.uuid(), text, surrogates),
    type: fc.constantFrom(...eventTypes),
    configOffset: fc.maxSafeNat(),
    appendTimeMs: anyTime,
    attempts: fc.nat(14_400_000),
    uid: fc.stringMatching(/^[\w-]{12}$/),
    eventName: fc.oneof(fc.string(), surrogates),
    previousId: fc.oneof(text, surrogates),
    urlValues: fc.dictionary(text, fc.option(fc.oneof(text, surrogates)), {
      noNullPrototype: true,
    }),
    isSync: fc.constant(true as const),
    redrivenMs: anyTime,
    deadlineMs: anyTime,
    dueMs: anyTime,
    lastAnswer: fc.record(
      {
        atMs: anyTime,
        detail: text,
        url: fc.option(text, { nil: undefined }),
        body: fc.option(text, { nil: undefined }),
        retryAfterMs: fc.option(fc.nat(), { nil: undefined }),
      },
      { noNullPrototype: true },
    ),
  },
  {
    requiredKeys: [
      'destinationId',
      'sourceId',
      'messageId',
      'type',
      'configOffset',
      'appendTimeMs',
      'attempts',
    ],
  },
);

function decodeText(json: string): Envelope | undefined {
  return decodeEnvelope(Buffer.from(json));
}

test('an envelope comes back as it was', () => {
  fc.assert(
    fc.property(anyEnvelope, (envelope) => {
      assert.deepEqual(decodeText(encodeEnvelope(envelope)), wholeEnvelope(envelope));
    }),
  );
});

test('an envelope is written as JSON.stringify would write it', () => {
  fc.assert(
    fc.property(anyEnvelope, (envelope) => {
      const encoded = encodeEnvelope(envelope);
      assert.equal(JSON.stringify(JSON.parse(encoded)), encoded);
    }),
  );
});

test('absent and undefined are the same', () => {
  assert.equal(encodeEnvelope(wholeEnvelope(fresh)), encodeEnvelope(fresh));
});

test('the written form of version 1 stays as it is', () => {
  assert.equal(
    encodeEnvelope({ ...fresh, redrivenMs: 3, deadlineMs: 2, dueMs: 1 }),
    '{"v":1,"d":"crm","s":"shop","m":"m-1","t":"track","c":17,"a":1763700000000,"n":0,"r":3,"x":2,"u":1}',
  );
  assert.equal(
    encodeEnvelope({ ...fresh, type: 'alias', previousId: 'old' }),
    '{"v":1,"d":"crm","s":"shop","m":"m-1","t":"alias","c":17,"a":1763700000000,"n":0,"p":"old"}',
  );
  assert.equal(
    encodeEnvelope({ ...fresh, eventName: 'Order "Paid"' }),
    String.raw`{"v":1,"d":"crm","s":"shop","m":"m-1","t":"track","c":17,"a":1763700000000,"n":0,"e":"Order \"Paid\""}`,
  );
});

test('keys of other releases are ignored, another version is not read', () => {
  const encoded = encodeEnvelope(fresh);
  assert.deepEqual(decodeText(encoded.replace('{', '{"new":[1],')), wholeEnvelope(fresh));
  assert.deepEqual(decodeText(encoded.replace('}', ',"l":1}')), wholeEnvelope(fresh));
  assert.equal(decodeText(encoded.replace('"v":1', '"v":2')), undefined);
  assert.equal(decodeText(encoded.replace('"v":1,', '')), undefined);
});

test('a key that is missing, of the wrong kind or cannot be true makes it no envelope', () => {
  const times = { redrivenMs: 3, deadlineMs: 2, dueMs: 1 };
  const encoded = encodeEnvelope({
    ...fresh,
    previousId: 'old',
    urlValues: { userId: 'u', event: null },
    ...times,
  });
  const json = JSON.parse(encoded) as Record<string, unknown>;
  const wrong: Record<string, readonly unknown[]> = {
    v: [undefined, null, '1'],
    d: [undefined, null, '', 7, {}],
    s: [undefined, null, '', 7, []],
    m: [undefined, null, '', 7],
    t: [undefined, null, 'Track', 'toString', 1],
    c: [undefined, null, -1, 1.5, '17'],
    a: [undefined, null, 1.5, '17', 1e300, latestTimeMs + 1, -1],
    n: [undefined, null, -1, 0.5, '0', 14_400_001],
    p: [null, '', 7, {}],
    q: [null, '', [], { userId: '' }, { userId: 1 }, { userId: {} }],
    r: [null, 1.5, '3', {}, latestTimeMs + 1, -1],
    x: [null, 1.5, '2', {}, latestTimeMs + 1, -1],
    u: [null, 1.5, '1', {}, latestTimeMs + 1, -1],
  };
  assert.deepEqual(Object.keys(wrong), Object.keys(json));
  for (const [key, values] of Object.entries(wrong)) {
    for (const value of values) {
      const broken = JSON.stringify({ ...json, [key]: value });
      assert.equal(decodeText(broken), undefined, broken);
    }
  }
});

test('no bytes make decoding throw', () => {
  for (const bytes of ['', 'null', '[]', '1', '"x"', '{', '{}', '\u0000', '{"v":1}']) {
    assert.equal(decodeText(bytes), undefined, bytes);
  }
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array(), anyJson.map(stringified)), (bytes) => {
      assert.equal(decodeEnvelope(Buffer.from(bytes)), undefined);
    }),
  );
});

function stringified(json: unknown): Buffer {
  return Buffer.from(JSON.stringify(json));
}

test('a record is keyed by its destination and the user, who may be anonymous', () => {
  const known = callOf({ type: 'page', userId: 7, anonymousId: 'a' });
  const anonymous = callOf({ type: 'page', userId: null, anonymousId: 'a:b' });
  assert.equal(deliveryKey('crm', userOf(known)), 'crm:7');
  assert.equal(deliveryKey('crm', userOf(anonymous)), 'crm:a:b');
});
