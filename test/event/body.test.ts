import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { buildBody, buildDeleteBody } from '../../src/event/body.ts';
import { anyCall, callOf, origin, parse } from './some-calls.ts';

const timestamp = '2012-12-02T00:30:08.276Z';
const all = {
  context: { ip: '1.2.3.4' },
  category: 'Shop',
  name: 'Home',
  traits: { plan: 'pro' },
  properties: { revenue: '39.95' },
  timestamp,
  previousId: 'old',
  groupId: 'g',
  event: 'Purchased an Item',
  anonymousId: 'anon',
  userId: '019mr8mf4r',
  messageId: 'm',
  integrations: {},
  writeKey: 'wk',
  extra: 1,
};

const user = '"userId":"019mr8mf4r"';
const end = `"context":{"ip":"1.2.3.4"},"timestamp":"${timestamp}"}`;
const standard = {
  track: `{"version":1,"type":"track",${user},"event":"Purchased an Item","properties":{"revenue":"39.95"},${end}`,
  page: `{"version":1,"type":"page",${user},"properties":{"revenue":"39.95","name":"Home","category":"Shop"},${end}`,
  screen: `{"version":1,"type":"screen",${user},"name":"Home","properties":{"revenue":"39.95"},${end}`,
  identify: `{"version":1,"type":"identify",${user},"traits":{"plan":"pro"},${end}`,
  group: `{"version":1,"type":"group",${user},"groupId":"g","traits":{"plan":"pro"},${end}`,
  alias: `{"version":1,"type":"alias","Previous ID":"old","User ID":"019mr8mf4r",${end}`,
};

for (const [type, body] of Object.entries(standard)) {
  test(`a ${type} body has the keys of the contract in their order and no others`, () => {
    assert.equal(buildBody(callOf({ ...all, type }), 'standard'), body);
  });
}

test("the contract's example is made byte for byte", () => {
  const sent =
    '{"type":"track","userId":"019mr8mf4r","timestamp":"2012-12-02T00:30:08.276Z","event":"Purchased an Item",' +
    '"properties":{"revenue":"39.95","shippingMethod":"2-day"}}';
  assert.equal(
    buildBody(callOf(sent), 'standard'),
    '{"version":1,"type":"track","userId":"019mr8mf4r","event":"Purchased an Item","properties":{"revenue":"39.95","shippingMethod":"2-day"},"timestamp":"2012-12-02T00:30:08.276Z"}',
  );
});

test('anonymousId takes the place of userId only when there is none', () => {
  for (const userId of [undefined, null, '']) {
    const body = buildBody(callOf({ ...all, type: 'screen', userId }), 'standard');
    assert.equal(body, standard.screen.replace(user, '"anonymousId":"anon"'));
  }
});

test('absent and null fields are left out', () => {
  for (const none of [undefined, null]) {
    const call = { type: 'screen', userId: 'u', name: none, properties: none, context: none };
    assert.equal(
      buildBody(callOf({ ...call, timestamp }), 'standard'),
      `{"version":1,"type":"screen","userId":"u","timestamp":"${timestamp}"}`,
    );
  }
});

test('numeric ids become strings in both payloads', () => {
  const group = callOf({ type: 'group', userId: 7, groupId: 0, messageId: 5, timestamp });
  assert.equal(
    buildBody(group, 'standard'),
    `{"version":1,"type":"group","userId":"7","groupId":"0","timestamp":"${timestamp}"}`,
  );
  assert.equal(
    buildBody(group, 'full'),
    `{"type":"group","userId":"7","groupId":"0","messageId":"5","timestamp":"${timestamp}"}`,
  );
  const alias = callOf({ type: 'alias', userId: 7, previousId: -3, timestamp });
  assert.match(buildBody(alias, 'standard'), /"Previous ID":"-3","User ID":"7"/);
});

const page = { type: 'page', userId: 'u', timestamp };

function pageProperties(fields: object): unknown {
  const body = buildBody(callOf({ ...page, ...fields }), 'standard');
  return (JSON.parse(body) as { properties?: unknown }).properties;
}

test("a page's name and category go into properties, unless they are there", () => {
  assert.deepEqual(pageProperties({ name: 'Home', category: 'Shop' }), {
    name: 'Home',
    category: 'Shop',
  });
  assert.deepEqual(pageProperties({ name: 'Home', properties: { name: null, path: '/' } }), {
    name: null,
    path: '/',
  });
  assert.deepEqual(pageProperties({ category: 'Shop', properties: { category: 'Own' } }), {
    category: 'Own',
  });
  assert.deepEqual(pageProperties({ name: null, properties: null }), undefined);
});

test("a page's properties that are no object stay as they are", () => {
  for (const properties of ['text', 0, false, [1]]) {
    assert.deepEqual(pageProperties({ name: 'Home', properties }), properties);
  }
});

test('the full payload is the call as sent, without its write key', () => {
  const sent = { ...all, type: 'track', sentAt: null, userId: 'é' };
  const { writeKey, ...expected } = sent;
  assert.equal(writeKey, 'wk');
  assert.equal(buildBody(callOf(sent), 'full'), JSON.stringify(expected));
});

test('the full payload carries the resolved time and message id', () => {
  const sent = { timestamp: '2012-12-01T19:30:08.276543-0500', type: 'page', userId: 'u' };
  assert.equal(
    buildBody(callOf(sent), 'full'),
    `{"timestamp":"${timestamp}","type":"page","userId":"u","messageId":"postrider.ingest:3:42"}`,
  );
  assert.equal(
    buildBody(callOf({ messageId: null, type: 'page', userId: 'u' }), 'full'),
    '{"messageId":"postrider.ingest:3:42","type":"page","userId":"u","timestamp":"2026-11-20T18:59:40.123Z"}',
  );
});

test('keys that JavaScript knows by name are keys like any other', () => {
  const odd =
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"hasOwnProperty":0,"toString":null,"toJSON":"x"}';
  const text = `{"type":"page","userId":"u","__proto__":{"polluted":1},"name":"Home","properties":${odd},"context":${odd},"timestamp":"${timestamp}"}`;
  const call = callOf(text);
  assert.equal(
    buildBody(call, 'standard'),
    `{"version":1,"type":"page","userId":"u","properties":${odd.slice(0, -1)},"name":"Home"},"context":${odd},"timestamp":"${timestamp}"}`,
  );
  assert.ok(buildBody(call, 'full').startsWith(text.slice(0, -1)));
  assert.equal(({} as { polluted?: number }).polluted, undefined);
});

test('values pass as JavaScript reads them', () => {
  const cases: readonly (readonly [sent: string, delivered: string])[] = [
    ['12345678901234567890', '12345678901234567000'],
    ['[1.0,1e2,-0,0.1,1E400]', '[1,100,0,0.1,null]'],
    ['{"b":1,"2":1,"1":1}', '{"1":1,"2":1,"b":1}'],
    ['{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'],
    ['"\\u00e9\\/\\u2028\\u003c"', '"é/\u2028<"'],
    ['"\\ud800"', '"\\ud800"'],
    ['"\\u0000"', '"\\u0000"'],
    ['"2015-02-02"', '"2015-02-02"'],
  ];
  for (const [sent, delivered] of cases) {
    const call = callOf(
      `{"type":"identify","userId":"u","traits":${sent},"timestamp":"${timestamp}"}`,
    );
    assert.equal(
      buildBody(call, 'standard'),
      `{"version":1,"type":"identify","userId":"u","traits":${delivered},"timestamp":"${timestamp}"}`,
    );
  }
});

test("a deletion's notification has three keys, whatever the id", () => {
  const body = buildDeleteBody('a"b:\u00fc', timestamp);
  assert.equal(body, `{"type":"delete","userId":"a\\"b:\u00fc","timestamp":"${timestamp}"}`);
  assert.equal(JSON.stringify(JSON.parse(body)), body);
});

test('every body is a fixed point of parse and stringify, and the same each time', () => {
  let calls = 0;
  fc.assert(
    fc.property(anyCall, fc.constantFrom('standard', 'full'), (sent, payload) => {
      const { call } = parse(sent);
      if (call === undefined) return;
      calls += 1;
      const body = buildBody(call, payload);
      assert.equal(JSON.stringify(JSON.parse(body)), body);
      assert.equal(buildBody(callOf(sent), payload), body);
      assert.ok(!body.includes('wk_shop_1'));
    }),
    { numRuns: 1000 },
  );
  assert.ok(calls > 300, `only ${calls} of the records were calls`);
});

test('properties, traits and context pass unchanged', () => {
  fc.assert(
    fc.property(anyCall, (sent) => {
      const { call } = parse(sent);
      if (call === undefined || call.type === 'page') return;
      const body = JSON.parse(buildBody(call, 'standard')) as Record<string, unknown>;
      const read = JSON.parse(JSON.stringify(sent)) as Record<string, unknown>;
      for (const name of ['properties', 'traits', 'context']) {
        if (name in body) assert.deepEqual(body[name], read[name]);
      }
    }),
  );
});

test('the default time is the append time', () => {
  const body = buildBody(callOf({ type: 'identify', userId: 'u' }), 'standard');
  const { timestamp: sent } = JSON.parse(body) as { timestamp: string };
  assert.equal(Date.parse(sent), origin.appendTimeMs);
});
