import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallType } from '../../src/event/call.ts';
import { parseCall } from '../../src/event/parse-call.ts';
import { encodeCall } from '../../src/client/encode-call.ts';
import { AnalyticsError } from '../../src/client/errors.ts';
import { maxCallBytes, maxDepth } from '../../src/event/limits.ts';

const nowMs = Date.UTC(2026, 10, 21, 12);
const rules = { anonymousPages: false, nowMs, context: undefined };

function sent(type: CallType, call: unknown, changes: object = {}): Record<string, unknown> {
  const { json } = encodeCall(type, call, { ...rules, ...changes });
  return JSON.parse(json) as Record<string, unknown>;
}

function refusal(type: CallType, call: unknown, changes: object = {}): [string, string] {
  try {
    encodeCall(type, call, { ...rules, ...changes });
  } catch (error) {
    assert.ok(error instanceof AnalyticsError);
    return [error.code, error.message];
  }
  throw new Error('it was accepted');
}

const eitherId = "You must pass either an 'anonymousId' or 'userId'.";

const refusals: readonly [CallType, object, string][] = [
  ['identify', {}, eitherId],
  ['identify', { userId: '', anonymousId: null }, eitherId],
  ['screen', {}, eitherId],
  ['track', {}, "You must pass 'event'."],
  ['track', { userId: 'u', event: '' }, "You must pass 'event'."],
  ['track', { event: 'Bought' }, eitherId],
  ['group', {}, "You must pass a 'groupId'."],
  ['group', { groupId: 'g' }, eitherId],
  ['alias', { anonymousId: 'a' }, "You must pass a 'userId'."],
  ['alias', { userId: 'u' }, "You must pass a 'previousId'."],
  ['page', { anonymousId: 'a' }, "You must pass a 'userId'."],
  ['track', { userId: 7, event: 'Bought' }, "'userId' must be a string."],
  ['track', { userId: 'u', event: 7 }, "'event' must be a string."],
  ['identify', { userId: 'u', anonymousId: {} }, "'anonymousId' must be a string."],
  ['identify', { userId: 'u', messageId: 7 }, "'messageId' must be a string."],
];

for (const [type, call, message] of refusals) {
  test(`${type} ${JSON.stringify(call)} is refused: ${message}`, () => {
    assert.deepEqual(refusal(type, call), ['invalid-call', message]);
  });
}

test('what is no object at all is refused', () => {
  for (const call of [undefined, null, 'track', 7]) {
    assert.deepEqual(refusal('track', call), [
      'invalid-call',
      "You must pass an object to 'track'.",
    ]);
  }
});

test('a page may be anonymous with the option, but not without any id', () => {
  assert.equal(sent('page', { anonymousId: 'a' }, { anonymousPages: true })['anonymousId'], 'a');
  assert.deepEqual(refusal('page', {}, { anonymousPages: true }), ['invalid-call', eitherId]);
});

test("a page's traits are sent as its properties", () => {
  const call = { userId: 'u', name: 'Pricing', category: 'Web', traits: { path: '/pricing' } };
  const { properties, traits, name, category } = sent('page', call);
  assert.deepEqual([name, category, traits], ['Pricing', 'Web', undefined]);
  assert.deepEqual(properties, { path: '/pricing' });
  assert.deepEqual(sent('page', { userId: 'u', properties: { a: 1 } })['properties'], { a: 1 });
  const both = { userId: 'u', traits: { a: 1 }, properties: { a: 2 } };
  assert.deepEqual(sent('page', both)['properties'], { a: 1 });
});

test('each type is sent with its own fields and no others', () => {
  const all = {
    ...{ userId: 'u', anonymousId: 'a', event: 'E', name: 'N', category: 'C', groupId: 'g' },
    ...{ previousId: 'p', properties: { p: 1 }, traits: { t: 1 }, context: { ip: '203.0.113.7' } },
    ...{ integrations: { All: false }, messageId: 'm', timestamp: '2020-02-02T02:02:02Z' },
    writeKey: 'not ours to send',
  };
  const common = ['type', 'messageId', 'timestamp', 'userId', 'anonymousId'];
  const last = ['context', 'integrations'];
  const own: Readonly<Record<CallType, readonly string[]>> = {
    track: [...common, 'event', 'properties', ...last],
    page: [...common, 'name', 'category', 'properties', ...last],
    screen: [...common, 'name', 'category', 'properties', ...last],
    identify: [...common, 'traits', ...last],
    group: [...common, 'groupId', 'traits', ...last],
    alias: ['type', 'messageId', 'timestamp', 'userId', 'previousId', ...last],
  };
  for (const [type, fields] of Object.entries(own)) {
    assert.deepEqual(Object.keys(sent(type as CallType, all)), fields);
  }
});

test('every call that is accepted is a call to the pipeline', () => {
  const call = { userId: 'u', event: 'E', groupId: 'g', previousId: 'p' };
  const origin = { topic: 't', partition: 0, offset: 0, appendTimeMs: 0 };
  for (const type of ['track', 'page', 'screen', 'identify', 'group', 'alias'] as const) {
    const { json, messageId } = encodeCall(type, call, rules);
    const parsed = parseCall(Buffer.from(json), origin);
    assert.equal(parsed.call?.messageId, messageId);
    assert.equal(parsed.call.timestamp, '2026-11-21T12:00:00.000Z');
  }
});

test('message id and timestamp of the caller are kept, others are made', () => {
  const given = { userId: 'u', messageId: 'mine', timestamp: '2012-12-02T00:30:08-0500' };
  assert.equal(sent('identify', given)['timestamp'], '2012-12-02T00:30:08-0500');
  assert.equal(encodeCall('identify', given, rules).messageId, 'mine');
  const date = new Date(0);
  assert.equal(sent('identify', { userId: 'u', timestamp: date })['timestamp'], date.toISOString());
  const [first, second] = [1, 2].map(() => encodeCall('identify', { userId: 'u' }, rules));
  assert.match(first?.messageId ?? '', /^[\da-f-]{36}$/);
  assert.notEqual(first?.messageId, second?.messageId);
});

test('a timestamp that the pipeline would reject is refused at once', () => {
  for (const timestamp of ['yesterday', 1_700_000_000, new Date(NaN), new Date(8.64e15), {}]) {
    const [code, message] = refusal('identify', { userId: 'u', timestamp });
    assert.equal(code, 'invalid-call');
    assert.match(message, /^'timestamp' must be a Date or an ISO 8601 time/);
  }
});

test('what JSON cannot express refuses the call, with the cause', () => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  const broken = new Error('broken');
  const throwing = {
    get value(): never {
      throw broken;
    },
  };
  const toJson = {
    toJSON: (): never => {
      throw broken;
    },
  };
  for (const bad of [1n, cycle, throwing, toJson]) {
    const call = { userId: 'u', event: 'E', properties: { bad } };
    assert.equal(refusal('track', call)[0], 'unserializable');
  }
  const call = {
    userId: 'u',
    get event(): never {
      throw broken;
    },
  };
  assert.throws(
    () => encodeCall('track', call, rules),
    (error: AnalyticsError) => error.code === 'unserializable' && error.cause === broken,
  );
});

test("the caller's object stays as it was, and later changes of it do not count", () => {
  const call = Object.freeze({ userId: 'u', event: 'E', properties: { total: 1 } });
  const { json } = encodeCall('track', call, rules);
  assert.deepEqual(Object.keys(call), ['userId', 'event', 'properties']);
  call.properties.total = 2;
  assert.match(json, /"total":1/);
});

test('a call of exactly 32 KB is accepted, one more byte is not, and bytes are counted', () => {
  assert.equal(maxCallBytes, 32_768);
  const sized = (note: string): object => ({
    ...{ userId: 'u', event: 'E', messageId: 'm', properties: { note } },
  });
  const empty = encodeCall('track', sized(''), rules).bytes;
  const room = maxCallBytes - empty;
  assert.equal(encodeCall('track', sized('x'.repeat(room)), rules).bytes, maxCallBytes);
  assert.deepEqual(refusal('track', sized('x'.repeat(room + 1))), [
    'too-large',
    `The call has ${maxCallBytes + 1} bytes as JSON; it may have ${maxCallBytes}.`,
  ]);
  assert.equal(refusal('track', sized('é'.repeat(room / 2 + 1)))[0], 'too-large');
});

test('each id may have 1 KB, as in the pipeline', () => {
  const origin = { topic: 't', partition: 0, offset: 0, appendTimeMs: 0 };
  const [longest, longer] = ['é'.repeat(512), 'é'.repeat(513)];
  const { json } = encodeCall('alias', { userId: longest, previousId: longest }, rules);
  assert.ok(parseCall(Buffer.from(json), origin).call);
  assert.deepEqual(refusal('alias', { userId: 'u', previousId: longer }), [
    'too-large',
    "'previousId' has 1026 bytes; it may have 1024.",
  ]);
  assert.equal(refusal('track', { userId: 'u', event: 'E', messageId: longer })[0], 'too-large');
});

test('64 levels are accepted and 65 are not, as in the pipeline', () => {
  const nested = (levels: number): object => {
    let value: unknown = '"}[{\\';
    for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? { value } : [value];
    return { userId: 'u', event: 'E', properties: { value } };
  };
  const origin = { topic: 't', partition: 0, offset: 0, appendTimeMs: 0 };
  const deepest = encodeCall('track', nested(maxDepth - 2), rules);
  assert.ok(parseCall(Buffer.from(deepest.json), origin).call);
  assert.equal(refusal('track', nested(maxDepth - 1))[0], 'too-large');
  const wide = { userId: 'u', event: 'E', properties: { many: Array(200).fill({ a: '[[[' }) } };
  assert.equal(encodeCall('track', wide, rules).type, 'track');
});

test("the library's context is merged in where asked for, and the call's wins", () => {
  const context = { library: { name: 'ours' }, app: 'default' };
  const ownContext = { app: 'mine' };
  const call = { userId: 'u', context: ownContext };
  assert.deepEqual(sent('identify', call, { context })['context'], { ...context, app: 'mine' });
  assert.deepEqual(sent('identify', { userId: 'u' }, { context })['context'], context);
  assert.deepEqual(ownContext, { app: 'mine' });
});

test('whom a call is about is its user id, else its anonymous id', () => {
  assert.equal(encodeCall('identify', { userId: 'u', anonymousId: 'a' }, rules).user, 'u');
  assert.equal(encodeCall('identify', { userId: '', anonymousId: 'a' }, rules).user, 'a');
});
