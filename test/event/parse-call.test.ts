import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { parseCall } from '../../src/event/parse-call.ts';
import { type RejectReason, rejectReasons } from '../../src/event/rejection.ts';
import { anyCall, anyJson, callOf, origin, parse } from './some-calls.ts';

const track = { type: 'track', userId: 'u', event: 'Order Completed' };

function reasonOf(value: object | string | Buffer | null): RejectReason | undefined {
  return parse(value).rejected?.reason;
}

const rejected: Readonly<Partial<Record<RejectReason, readonly (object | string | null)[]>>> = {
  empty: [null, ''],
  undecodable: ['\u0000\u0000\u0000\u0000\u0001{}', '\u0000'],
  'invalid-json': [
    '{',
    '{"type":"track",}',
    'track',
    '\u0001{}',
    '\ufeff',
    '{"a":"\u0000"}',
    "{'a':1}",
  ],
  'not-an-object': ['null', '[]', '[{"type":"track"}]', '"track"', '7', 'true'],
  batch: [{ batch: [track], writeKey: 'wk' }, { batch: [] }, { type: null, batch: [] }],
  'invalid-type': [
    {},
    { ...track, type: undefined },
    { ...track, type: null },
    { ...track, type: 'delete' },
    { ...track, type: 'Track' },
    { ...track, type: 'constructor' },
    { ...track, type: 7 },
    { ...track, type: ['track'] },
    { batch: 'no array' },
  ],
  'invalid-id': [
    { ...track, userId: 2 ** 53 },
    '{"type":"track","event":"e","userId":12345678901234567890}',
    '{"type":"track","event":"e","userId":1E400}',
    { ...track, userId: 1.5 },
    { ...track, userId: true },
    { ...track, userId: {} },
    { ...track, userId: ['u'] },
    { ...track, anonymousId: 0.1 },
    { ...track, messageId: false },
    { ...track, messageId: 'm'.repeat(1_025) },
    { ...track, anonymousId: 'é'.repeat(513) },
    { type: 'group', userId: 'u', groupId: {} },
    { type: 'alias', userId: 'u', previousId: 1e300 },
  ],
  'no-user': [
    { type: 'identify' },
    { type: 'page', userId: null, anonymousId: null },
    { type: 'page', userId: '', anonymousId: '' },
    { type: 'alias', previousId: 'old' },
    { type: 'alias', previousId: 'old', anonymousId: 'a' },
  ],
  'no-event': [
    { ...track, event: undefined },
    { ...track, event: null },
    { ...track, event: '' },
    { ...track, event: 7 },
    { ...track, event: {} },
  ],
  'no-group-id': [
    { type: 'group', userId: 'u' },
    { type: 'group', userId: 'u', groupId: null },
    { type: 'group', userId: 'u', groupId: '' },
  ],
  'no-previous-id': [
    { type: 'alias', userId: 'u' },
    { type: 'alias', userId: 'u', previousId: null },
    { type: 'alias', userId: 'u', previousId: '' },
  ],
  'invalid-timestamp': [
    { ...track, timestamp: 1_763_700_000_000 },
    { ...track, timestamp: {} },
    { ...track, timestamp: 'yesterday' },
    { ...track, timestamp: '2026-02-30T10:00:00Z' },
    { ...track, timestamp: 'yesterday', originalTimestamp: '2026-11-20' },
    { ...track, originalTimestamp: 'yesterday' },
  ],
};

for (const [reason, values] of Object.entries(rejected)) {
  test(`rejected as ${reason}: ${rejectReasons[reason as RejectReason]}`, () => {
    for (const value of values) {
      const shown = typeof value === 'object' ? JSON.stringify(value) : value;
      assert.equal(reasonOf(value), reason, shown);
    }
  });
}

test('the detail says what is wrong with this record', () => {
  const detail = (value: object | string): string | undefined => parse(value).rejected?.detail;
  assert.equal(detail('{"a":1,}'), 'The value is not JSON at position 7.');
  assert.equal(
    detail({ ...track, type: 'delete' }),
    'A call cannot have the type delete; use `postrider delete-user` instead.',
  );
  assert.equal(
    detail({ ...track, type: 'purchase' }),
    'The type "purchase" is unknown; allowed: track, page, screen, identify, group, alias.',
  );
  assert.equal(
    detail({ ...track, userId: 1.5 }),
    'userId is the number 1.5, not a string or a safe integer.',
  );
  assert.equal(detail({ ...track, event: '' }), 'A track call needs an event name; it is empty.');
  assert.equal(
    detail({ ...track, event: 7 }),
    'A track call needs an event name; it is the number 7.',
  );
  assert.equal(
    detail({ ...track, timestamp: '2026-02-30' }),
    'timestamp "2026-02-30" is not an ISO 8601 time in the years 0 to 9999.',
  );
});

test('a detail is one short line without the contents of what could not be parsed', () => {
  assert.equal(parse('{"userId":"secret",tru}').rejected?.detail.includes('secret'), false);
  const long = parse({ ...track, timestamp: '\n'.repeat(5000) }).rejected?.detail ?? '\n';
  assert.ok(!long.includes('\n') && long.length < 200);
});

test('a call of 32 KB is taken, one byte more is not, and characters count as bytes', () => {
  const padded = (bytes: number, unit: string): string => {
    const empty = JSON.stringify({ ...track, properties: { pad: '' } });
    const count = (bytes - empty.length) / Buffer.byteLength(unit);
    const rest = ' '.repeat(Math.round((count % 1) * Buffer.byteLength(unit)));
    return empty.replace('""', `"${unit.repeat(Math.floor(count))}"`) + rest;
  };
  for (const unit of ['a', 'é', '😀']) {
    assert.equal(Buffer.byteLength(padded(32_768, unit)), 32_768);
    assert.equal(reasonOf(padded(32_768, unit)), undefined);
    assert.equal(reasonOf(padded(32_769, unit)), 'too-large');
  }
  assert.equal(
    parse(padded(32_769, 'a')).rejected?.detail,
    'The value has 32769 bytes; a call may have 32768.',
  );
});

test('a call nested 64 deep is taken, one level more is not, however deep', () => {
  const nested = (levels: number, open: string, close: string): string => {
    const count = (levels - 1) / (open.length - open.replace(/[[{]/g, '').length);
    return `{"type":"identify","userId":"u","traits":${open.repeat(count)}1${close.repeat(count)}}`;
  };
  assert.equal(reasonOf(nested(64, '[', ']')), undefined);
  assert.equal(reasonOf(nested(65, '[', ']')), 'too-deep');
  assert.equal(reasonOf(nested(64, '{"a":', '}')), undefined);
  assert.equal(reasonOf(nested(65, '{"a":', '}')), 'too-deep');
  assert.equal(reasonOf(nested(63, '[2,{"b":"","a":', '}]')), undefined);
  assert.equal(reasonOf(nested(65, '[2,{"b":"","a":', '}]')), 'too-deep');
  assert.equal(reasonOf(nested(16_000, '[', ']')), 'too-deep');
  assert.equal(reasonOf(nested(20_000, '[', ']')), 'too-large');
  assert.equal(reasonOf('['.repeat(20_000)), 'invalid-json');
  assert.equal(reasonOf('{"a":'.repeat(6_000)), 'invalid-json');
});

test('brackets inside strings are not depth', () => {
  assert.equal(reasonOf({ ...track, properties: { text: '[{'.repeat(5_000) } }), undefined);
});

test('a byte order mark is skipped', () => {
  assert.deepEqual(callOf(`\ufeff${JSON.stringify(track)}`), callOf(track));
});

test('bytes that are not UTF-8 are rejected', () => {
  const text = JSON.stringify({ ...track, userId: 'XX' });
  const withBytes = (...bytes: number[]): Buffer => {
    const value = Buffer.from(text);
    value.set(bytes, text.indexOf('XX'));
    return value;
  };
  assert.equal(reasonOf(withBytes(0xc3, 0xa9)), undefined);
  assert.equal(reasonOf(withBytes(0xff, 0x41)), 'undecodable');
  assert.equal(reasonOf(withBytes(0x41, 0xe9)), 'undecodable');
  assert.equal(reasonOf(Buffer.from(`\ufeff${text}`, 'utf16le')), 'undecodable');
  assert.equal(reasonOf(Buffer.from([0xed, 0xa0, 0x80])), 'undecodable');
});

test('the last of duplicate keys wins', () => {
  assert.equal(callOf('{"type":"delete","userId":"a","type":"page","userId":"b"}').userId, 'b');
  assert.equal(reasonOf('{"type":"page","userId":"b","type":"delete"}'), 'invalid-type');
});

test('ids may be safe integers, null counts as absent, and so does an empty string', () => {
  const call = callOf({ ...track, userId: 7, anonymousId: -1, messageId: 0 });
  assert.deepEqual([call.userId, call.anonymousId, call.messageId], ['7', '-1', '0']);
  assert.equal(callOf({ ...track, userId: Number.MAX_SAFE_INTEGER }).userId, '9007199254740991');
  for (const none of [null, '']) {
    const anonymous = callOf({ ...track, userId: none, anonymousId: 'a', writeKey: none });
    assert.deepEqual([anonymous.userId, anonymous.anonymousId], [undefined, 'a']);
    assert.equal(anonymous.writeKey, undefined);
  }
  assert.equal(callOf({ ...track, userId: ' ' }).userId, ' ');
});

test('ids of another type of call are not looked at', () => {
  assert.equal(reasonOf({ ...track, groupId: {}, previousId: false }), undefined);
});

test('a message id is kept, whatever its length, else made from where the record stands', () => {
  assert.equal(callOf({ ...track, messageId: 'm'.repeat(200) }).messageId, 'm'.repeat(200));
  for (const messageId of [undefined, null, '']) {
    assert.equal(callOf({ ...track, messageId }).messageId, 'postrider.ingest:3:42');
  }
});

test('a write key in the call is read; one that is no string names no source', () => {
  assert.equal(callOf({ ...track, writeKey: 'wk_shop_1' }).writeKey, 'wk_shop_1');
  assert.equal(callOf({ ...track, writeKey: 7 }).writeKey, undefined);
});

test('timestamp, else originalTimestamp, else the append time', () => {
  const originalTimestamp = '2026-11-20T18:59:40-0500';
  for (const none of [undefined, null, '']) {
    const call = callOf({ ...track, timestamp: none, originalTimestamp });
    assert.equal(call.timestamp, '2026-11-20T23:59:40.000Z');
    const neither = callOf({ ...track, timestamp: none, originalTimestamp: none });
    assert.equal(neither.timestamp, '2026-11-20T18:59:40.123Z');
  }
  const both = callOf({ ...track, timestamp: '2010-12-01', originalTimestamp });
  assert.equal(both.timestamp, '2010-12-01T00:00:00.000Z');
  const unused = callOf({ ...track, timestamp: '2010-12-01', originalTimestamp: 7 });
  assert.equal(unused.timestamp, '2010-12-01T00:00:00.000Z');
});

test('keys that JavaScript knows by name neither get lost nor reach a prototype', () => {
  const call = callOf(
    '{"__proto__":{"userId":"p","polluted":1},"constructor":1,"hasOwnProperty":2,"type":"page","userId":"u"}',
  );
  assert.deepEqual(Object.keys(call.fields), [
    '__proto__',
    'constructor',
    'hasOwnProperty',
    'type',
    'userId',
  ]);
  assert.equal(({} as { polluted?: number }).polluted, undefined);
  assert.equal(reasonOf('{"type":"page","__proto__":{"userId":"p"}}'), 'no-user');
});

test('no record makes parsing throw, and every rejection has a known reason', () => {
  const anyValue = fc.oneof(
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    anyJson.map((json) => Buffer.from(JSON.stringify(json))),
    anyCall.map((call) => Buffer.from(JSON.stringify(call))),
    fc
      .dictionary(fc.constantFrom('type', 'userId', 'event', 'timestamp', 'messageId'), anyJson)
      .map((call) =>
        Buffer.from(JSON.stringify({ type: 'track', userId: 'u', event: 'e', ...call })),
      ),
  );
  fc.assert(
    fc.property(anyValue, (value) => {
      const { call, rejected: rejection } = parseCall(value, origin);
      assert.notEqual(call === undefined, rejection === undefined);
      if (rejection !== undefined) assert.ok(Object.hasOwn(rejectReasons, rejection.reason));
    }),
    { numRuns: 1000 },
  );
});

test('the same record gives the same call', () => {
  fc.assert(
    fc.property(anyCall, (sent) => {
      assert.deepEqual(parse(sent), parse(sent));
    }),
  );
});
