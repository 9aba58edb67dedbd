import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { bodyMakerOf, type BodyShape } from '../../src/event/body-shape.ts';
import { buildBody, type Payload } from '../../src/event/body.ts';
import { callPathText, parseCallPath, valueAt, type CallPath } from '../../src/event/call-path.ts';
import type { Template } from '../../src/event/body-template.ts';
import { anyCall, callOf, parse } from './some-calls.ts';

const timestamp = '2026-11-24T10:00:00.000Z';
const order = {
  type: 'track',
  messageId: 'm-1',
  userId: 'u1',
  event: 'Order Completed',
  properties: { revenue: 39.95, coupon: null, items: [{ sku: 'a' }], 'a.b': true },
  context: { ip: '203.0.113.7', library: { name: 'bench' } },
  timestamp,
};

function bodyOf(
  body: BodyShape,
  sent: object | string = order,
  payload: Payload = 'standard',
): unknown {
  return JSON.parse(bodyMakerOf({ payload, body }).build(callOf(sent)));
}

const standard = JSON.parse(buildBody(callOf(order), 'standard')) as Record<string, unknown>;

test('omit leaves paths out, and what is not there does not matter', () => {
  const { properties, ...rest } = standard;
  assert.ok(properties);
  assert.deepEqual(bodyOf({ omit: ['properties', 'traits.email', 'context.ip'] }), {
    ...rest,
    context: { library: { name: 'bench' } },
  });
});

test('pick leaves out everything else', () => {
  const shape = { pick: ['userId', 'properties.revenue', 'context.library', 'context.os.name'] };
  assert.deepEqual(bodyOf(shape), {
    userId: 'u1',
    properties: { revenue: 39.95 },
    context: { library: { name: 'bench' } },
  });
});

test('a path goes through objects only, and a dot in a key is escaped', () => {
  const shape = { omit: ['properties.items.0', 'properties.items.length', 'properties.a\\.b'] };
  assert.deepEqual((bodyOf(shape) as typeof order).properties, {
    revenue: 39.95,
    coupon: null,
    items: [{ sku: 'a' }],
  });
});

test('rename moves values to new paths, and makes the objects that these need', () => {
  const rename = {
    'properties.revenue': 'amount',
    event: 'meta.kind.name',
    'context.ip': 'context.library.ip',
    'properties.nothing': 'nothing',
  };
  assert.deepEqual(bodyOf({ pick: ['event', 'properties.revenue', 'context'], rename }), {
    amount: 39.95,
    meta: { kind: { name: 'Order Completed' } },
    context: { library: { name: 'bench', ip: '203.0.113.7' } },
  });
});

test('two values can change places, and a value can move into what it was in', () => {
  const swap = { userId: 'event', event: 'userId' };
  assert.deepEqual(bodyOf({ pick: ['userId', 'event'], rename: swap }), {
    userId: 'Order Completed',
    event: 'u1',
  });
  const rename = { properties: 'data', 'properties.revenue': 'data.amount', type: 'type.name' };
  assert.deepEqual(bodyOf({ pick: ['type', 'properties.revenue'], rename }), {
    type: { name: 'track' },
    data: { amount: 39.95 },
  });
});

test('what stands at a new path, or in its way, is replaced', () => {
  const rename = { 'properties.revenue': 'event', 'context.ip': 'userId.ip' };
  assert.deepEqual(bodyOf({ pick: [...Object.keys(rename), 'event', 'userId'], rename }), {
    event: 39.95,
    userId: { ip: '203.0.113.7' },
  });
});

test('paths are those of the body: a page has its name in its properties', () => {
  const page = { type: 'page', userId: 'u1', name: 'Home', timestamp };
  assert.deepEqual(bodyOf({ pick: ['properties.name'] }, page), { properties: { name: 'Home' } });
  assert.deepEqual(bodyOf({ pick: ['name'] }, page, 'full'), { name: 'Home' });
});

test('a template has values with their types, and texts of them', () => {
  const template = {
    id: '{{messageId}}',
    text: '{{event}} by {{ userId }}: {{properties.revenue}}, {{properties.items}}',
    data: '{{properties}}',
    amount: '{{properties.revenue}}',
    coupon: '{{properties.coupon}}',
    dotted: ['{{properties.a\\.b}}'],
    constant: { version: 2, on: true, none: null, list: ['a'] },
    braces: 'a }} b',
  };
  assert.deepEqual(bodyOf({ template }), {
    id: 'm-1',
    text: 'Order Completed by u1: 39.95, [{"sku":"a"}]',
    data: order.properties,
    amount: 39.95,
    coupon: null,
    dotted: [true],
    constant: template.constant,
    braces: 'a }} b',
  });
});

test('what is missing is left out of a template, also of its lists and texts', () => {
  const template = {
    email: '{{traits.email}}',
    list: ['{{traits.email}}', '{{userId}}', '{{traits.phone}}'],
    text: '{{userId}} <{{traits.email}}> {{properties.coupon}}.',
    inner: { email: '{{traits.email}}' },
  };
  assert.deepEqual(bodyOf({ template }), { list: ['u1'], text: 'u1 <> .', inner: {} });
});

test('a default stands for what is missing or null, with the type that JSON gives it', () => {
  const template = {
    text: '{{traits.email|nobody}}',
    spaces: '{{ traits.email | no body }}',
    empty: '{{traits.email|}}',
    number: '{{properties.coupon|0}}',
    truth: '{{traits.vip|false}}',
    none: '{{traits.vip|null}}',
    quoted: '{{traits.vip|"0"}}',
    zeros: '{{traits.zip|01234}}',
    inText: 'n={{traits.n|1.50}} {{traits.vip|null}}{{traits.a|b}}{{traits.q|"c"}}',
    there: '{{userId|nobody}}',
  };
  assert.deepEqual(bodyOf({ template }), {
    text: 'nobody',
    spaces: 'no body',
    empty: '',
    number: 0,
    truth: false,
    none: null,
    quoted: '0',
    zeros: '01234',
    inText: 'n=1.5 bc',
    there: 'u1',
  });
});

test('a template reads the call, whatever the payload is', () => {
  const template = {
    name: '{{name}}',
    inBody: '{{properties.name}}',
    anonymous: '{{anonymousId}}',
  };
  const page = { type: 'page', userId: 'u1', anonymousId: 'a1', name: 'Home', timestamp };
  for (const payload of ['standard', 'full'] as const)
    assert.deepEqual(bodyOf({ template }, page, payload), { name: 'Home', anonymous: 'a1' });
});

test('keys that JavaScript knows by name are keys like any other', () => {
  const odd = `{"type":"page","userId":"u","properties":{"__proto__":{"a":1},"constructor":{"name":"x"},"toJSON":1},"timestamp":"${timestamp}"}`;
  const shape = {
    pick: ['properties.__proto__', 'properties.constructor', 'properties.valueOf'],
    rename: { 'properties.constructor.name': '__proto__.name' },
  };
  assert.equal(
    bodyMakerOf({ payload: 'standard', body: shape }).build(callOf(odd)),
    '{"properties":{"__proto__":{"a":1}},"__proto__":{"name":"x"}}',
  );
  const template = { a: '{{properties.__proto__.a}}', b: '{{properties.valueOf|none}}' };
  assert.deepEqual(bodyOf({ template }, odd), { a: 1, b: 'none' });
  assert.equal(({} as { name?: string }).name, undefined);
});

test('destinations with equal shapes get the same body, and others do not', () => {
  const idOf = (payload: Payload, body?: BodyShape): string | undefined =>
    bodyMakerOf(body === undefined ? { payload } : { payload, body }).shape;
  const omit = (): BodyShape => ({ omit: ['context.ip'] });
  const template = (): BodyShape => ({ template: { id: '{{messageId}}' } });
  assert.equal(idOf('standard', omit()), idOf('standard', omit()));
  assert.notEqual(idOf('standard', omit()), idOf('full', omit()));
  assert.notEqual(idOf('standard', omit()), idOf('standard', { pick: ['context.ip'] }));
  assert.equal(idOf('standard', template()), idOf('full', template()));
  assert.equal(idOf('full'), undefined);
});

const anyPath = fc
  .array(
    fc.constantFrom('properties', 'traits', 'context', 'event', 'name', '1', '__proto__', 'a.b'),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  .map(([first = '', ...rest]) => callPathText([first, ...rest]));

function keysOf(path: string): CallPath {
  const keys = parseCallPath(path);
  return 'problem' in keys ? assert.fail(keys.problem) : keys;
}

const anyTemplate: fc.Arbitrary<Template> = fc.letrec<{ template: Template }>((tie) => ({
  template: fc.oneof(
    { depthSize: 'small' },
    anyPath.map((path) => `{{${path}}}`),
    anyPath.map((path) => `is {{${path}|none}}.`),
    fc.constantFrom<Template>('text', 1, true, null),
    fc.array(tie('template'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('b', 'a', '2', '1', 'toJSON'), tie('template'), { maxKeys: 4 }),
  ),
})).template;

const anyShape: fc.Arbitrary<BodyShape> = fc.oneof(
  fc.record({
    omit: fc.array(anyPath, { maxLength: 4 }),
    rename: fc.dictionary(anyPath, anyPath, { maxKeys: 4 }),
  }),
  fc.record({
    pick: fc.array(anyPath, { maxLength: 4 }),
    rename: fc.dictionary(anyPath, anyPath, { maxKeys: 4 }),
  }),
  fc.array(anyTemplate, { maxLength: 4 }).map((template) => ({ template })),
);

test('every shaped body is a fixed point of parse and stringify, and leaves the call as it is', () => {
  fc.assert(
    fc.property(anyCall, anyShape, fc.constantFrom('standard', 'full'), (sent, body, payload) => {
      const { call } = parse(sent);
      if (call === undefined) return;
      const before = JSON.stringify(call);
      const maker = bodyMakerOf({ payload, body });
      const built = maker.build(call);
      assert.equal(JSON.stringify(JSON.parse(built)), built);
      assert.equal(maker.build(call), built);
      assert.equal(JSON.stringify(call), before);
    }),
    { numRuns: 1000 },
  );
});

test('an object that omit leaves empty stays, and one that rename leaves empty goes', () => {
  const call = { ...order, properties: { total: { value: 1 } }, context: { ip: '203.0.113.7' } };
  const shape = { omit: ['context.ip'], rename: { 'properties.total.value': 'total' } };
  assert.deepEqual(bodyOf(shape, call), {
    version: 1,
    type: 'track',
    userId: 'u1',
    event: 'Order Completed',
    context: {},
    total: 1,
    timestamp,
  });
});

/** The values that are no objects with keys, by path. */
function leavesOf(value: unknown, path: readonly string[] = []): Map<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Map([[path.join('\n'), value]]);
  return new Map(
    Object.entries(value).flatMap(([key, inner]) => [...leavesOf(inner, [...path, key])]),
  );
}

test('what omit leaves and pick chooses is, value by value, what the payload has', () => {
  fc.assert(
    fc.property(anyCall, anyPath, fc.constantFrom('standard', 'full'), (sent, path, payload) => {
      const { call } = parse(sent);
      if (call === undefined) return;
      const leaves = (body: BodyShape | undefined): [string, unknown][] => {
        const choice = body === undefined ? { payload } : { payload, body };
        return [...leavesOf(JSON.parse(bodyMakerOf(choice).build(call)))];
      };
      const keys = keysOf(path).join('\n');
      const isInside = ([each]: [string, unknown]): boolean =>
        each === keys || each.startsWith(`${keys}\n`);
      const whole = leaves(undefined);
      assert.deepEqual(leaves({ pick: [path] }), whole.filter(isInside));
      assert.deepEqual(
        leaves({ omit: [path] }),
        whole.filter((each) => !isInside(each)),
      );
    }),
    { numRuns: 1000 },
  );
});

test('a placeholder alone is the value at its path', () => {
  fc.assert(
    fc.property(anyCall, anyPath, (sent, path) => {
      const { call } = parse(sent);
      if (call === undefined) return;
      const value = valueAt(call, keysOf(path));
      const built = bodyMakerOf({ payload: 'full', body: { template: [`{{${path}}}`] } }).build(
        call,
      );
      assert.equal(built, JSON.stringify(value === undefined ? [] : [value]));
    }),
    { numRuns: 1000 },
  );
});
