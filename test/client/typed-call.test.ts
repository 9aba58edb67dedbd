import assert from 'node:assert/strict';
import { test } from 'node:test';
import avro from 'avsc';
import fc from '../harness/fast-check.ts';
import { encodeTyped } from '../../src/client/typed-call.ts';
import { createDecoder } from '../../src/schemas/decoder.ts';
import { ingestSchema } from '../../src/schemas/publish.ts';

type Fields = Record<string, unknown>;

/** What the router reads of the call when it was written with the schema. */
function roundTrip(call: Fields, schema: string = ingestSchema): unknown {
  const type = avro.Type.forSchema(JSON.parse(schema) as avro.Schema, { wrapUnions: true });
  const { object, rejected } = createDecoder({ type: 'AVRO', schema, references: [] })(
    encodeTyped(type, call),
  );
  if (object === undefined) return rejected;
  // A field that is absent is null.
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

const common = {
  type: 'track',
  messageId: 'm',
  timestamp: '2026-11-20T18:59:40.123Z',
  userId: 'u',
  event: 'E',
};

test('a call in the published schema is read as its JSON would be', () => {
  const calls: readonly Fields[] = [
    common,
    {
      ...common,
      properties: { total: 39.95, quantity: 2, coupon: null, gift: true, tags: ['a', 1] },
    },
    { ...common, properties: { products: [{ sku: 'x', price: 1.5 }], address: { city: 'Ulm' } } },
    { ...common, properties: {}, context: { library: { name: 'l' }, ip: '203.0.113.7' } },
    { ...common, integrations: { All: false, Webhooks: true } },
    { type: 'identify', anonymousId: 'a', traits: { plan: 'pro', seats: 2 ** 53 - 100 } },
    { type: 'group', userId: 'u', groupId: 'g', traits: { big: 1e300, small: -0.5 } },
    { type: 'page', userId: 'u', name: 'Home', category: 'Docs', properties: { path: '/' } },
    { type: 'alias', userId: 'u', previousId: 'p' },
  ];
  for (const call of calls) assert.deepEqual(roundTrip(call), call);
});

test('whatever properties JSON can have are read as they are', () => {
  const properties = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }));
  fc.assert(
    fc.property(properties, (given) => {
      const call = JSON.parse(JSON.stringify({ ...common, properties: given })) as Fields;
      assert.deepEqual(roundTrip(call), call);
    }),
  );
});

test('a whole number that avsc would write as another one is a double, or refused', () => {
  const properties = { edge: -(2 ** 52), below: -(2 ** 52) - 1, least: Number.MIN_SAFE_INTEGER };
  assert.deepEqual(roundTrip({ ...common, properties }), { ...common, properties });
  const onlyLong = JSON.stringify({
    type: 'record',
    name: 'Count',
    fields: [{ name: 'count', type: 'long' }],
  });
  assert.deepEqual(roundTrip({ count: -(2 ** 52) }, onlyLong), { count: -(2 ** 52) });
  assert.throws(() => roundTrip({ count: -(2 ** 52) - 1 }, onlyLong), /count does not fit/);
});

test('a time is the same moment, and settings of a destination count for whether it gets the call', () => {
  assert.deepEqual(roundTrip({ ...common, timestamp: '2012-12-02T01:30:08.276123+01:00' }), {
    ...common,
    timestamp: '2012-12-02T00:30:08.276Z',
  });
  const integrations = { All: false, Webhooks: { url: 'x' } };
  assert.deepEqual(roundTrip({ ...common, integrations }), {
    ...common,
    integrations: { All: false, Webhooks: true },
  });
});

test('a call that does not fit the schema is refused with the name of the field', () => {
  const schema = JSON.stringify({
    type: 'record',
    name: 'OrderCompleted',
    fields: [
      { name: 'type', type: 'string' },
      { name: 'event', type: 'string', default: 'Order Completed' },
      { name: 'userId', type: 'string' },
      {
        name: 'properties',
        type: {
          type: 'record',
          name: 'Order',
          fields: [
            { name: 'total', type: 'double' },
            { name: 'coupon', type: ['null', 'string'], default: null },
          ],
        },
      },
    ],
  });
  const call = { type: 'track', userId: 'u', properties: { total: 39 } };
  assert.deepEqual(roundTrip(call, schema), {
    ...call,
    event: 'Order Completed',
    properties: { total: 39, coupon: null },
  });
  const misfits: readonly [Fields, RegExp][] = [
    [{ ...call, context: {} }, /the schema has no field context/],
    [{ type: 'track', properties: { total: 1 } }, /the schema needs userId/],
    [{ ...call, properties: { total: '39' } }, /properties does not fit/],
    [{ ...call, properties: { total: 39, colour: 'red' } }, /properties does not fit/],
    [{ ...call, properties: {} }, /properties does not fit/],
  ];
  for (const [misfit, message] of misfits) {
    assert.throws(() => roundTrip(misfit, schema), message);
  }
  assert.throws(() => roundTrip({ ...common, properties: [1] }), /properties does not fit/);
});
