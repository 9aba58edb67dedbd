import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call } from '../../../src/event/call.ts';
import { compileFilter, passes, type Filter } from '../../../src/event/filter.ts';
import {
  ConnectedDestinations,
  type RoutedDestination,
} from '../../../src/resources/config/connected.ts';
import { callOf } from '../../event/some-calls.ts';
import fc from '../../harness/fast-check.ts';
import { exampleDestination } from '../examples.ts';

/** Few, so that calls and filters meet. Types are told apart, and a list is equal to nothing. */
const scalar = fc.constantFrom('1', 1, true, null, 'acme');
const path = fc.constantFrom('type', 'userId', 'properties.a', 'properties.b', 'context.c\\.d');
const textOnly = fc.constantFrom('u1', 'track', 'page');

const condition = fc.oneof(
  { weight: 3, arbitrary: scalar },
  fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }).map((values) => ({ in: values })),
  fc.record({ in: fc.constant(['1', '1', 1]), exists: fc.boolean() }),
  fc.constant({ gte: 1 }),
  fc.constant({ exists: false }),
);

const flat = fc
  .array(fc.tuple(path, condition, textOnly), { minLength: 1, maxLength: 4 })
  .map((entries) =>
    Object.fromEntries(
      entries.map(([key, wanted, text]) => {
        const isText = key === 'type' || key === 'userId';
        if (!isText) return [key, wanted];
        return [key, key === 'type' && text === 'u1' ? 'track' : text];
      }),
    ),
  );

const filter: fc.Arbitrary<object> = fc.oneof(
  flat,
  fc.tuple(flat, flat).map(([one, other]) => ({ ...one, any: [one, other] })),
  fc.tuple(flat, flat).map(([one, other]) => ({ ...one, not: other })),
);

const destination = fc
  .record(
    { id: fc.constantFrom('a', 'a-b', 'ab', 'b', 'c', 'd'), filter },
    { requiredKeys: ['id'] },
  )
  .map((fields) => exampleDestination(fields));

const value = fc.oneof(scalar, fc.constant([1]), fc.constant({ acme: 1 }));
const call = fc
  .record(
    {
      type: fc.constantFrom('track', 'page'),
      userId: fc.constantFrom('u1', '1', 'acme'),
      properties: fc.record({ a: value, b: value }, { requiredKeys: [] }),
      context: fc.record({ 'c.d': value }, { requiredKeys: [] }),
    },
    { requiredKeys: ['type', 'userId'] },
  )
  .map((fields) => callOf({ ...fields, event: 'Order' }));

/** Those that want the call, found by looking at each. */
function scan(all: readonly RoutedDestination[], each: Call): string[] {
  return wanting(all, each).sort();
}

function wanting(destinations: readonly RoutedDestination[], each: Call): string[] {
  return destinations.filter((one) => isWanted(one.filter, each)).map(({ id }) => id);
}

function isWanted(filtered: Filter | undefined, each: Call): boolean {
  return filtered === undefined || passes(compileFilter(filtered), each);
}

test('the candidates that want a call are those that a look at each destination finds, by id', () => {
  const changes = fc.array(fc.tuple(destination, fc.boolean()), { maxLength: 25 });
  fc.assert(
    fc.property(changes, fc.array(call, { minLength: 1, maxLength: 5 }), (steps, calls) => {
      const connected = new ConnectedDestinations();
      const all = new Map<string, RoutedDestination>();
      for (const [one, isPut] of steps) {
        connected.remove(one.id);
        all.delete(one.id);
        if (!isPut) continue;
        connected.put(one);
        all.set(one.id, one);
      }
      assert.equal(connected.size, all.size);
      for (const [id, one] of all) assert.equal(connected.get(id), one);
      for (const each of calls)
        assert.deepEqual(wanting(connected.candidates(each), each), scan([...all.values()], each));
    }),
  );
});

function connectedTo(count: number, filterOf: (index: number) => object): ConnectedDestinations {
  const connected = new ConnectedDestinations();
  for (let index = 0; index < count; index += 1)
    connected.put(exampleDestination({ id: `d${index}`, filter: filterOf(index) }));
  return connected;
}

function candidateIds(connected: ConnectedDestinations, properties: object): string[] {
  const fields = { type: 'track', event: 'Order', userId: 'u1', properties };
  return connected.candidates(callOf(fields)).map(({ id }) => id);
}

test('only those destinations are looked at that want the value of the call', () => {
  const own = connectedTo(500, (index) => ({ 'properties.accountId': `account-${index}` }));
  assert.deepEqual(candidateIds(own, { accountId: 'account-77' }), ['d77']);
  assert.deepEqual(candidateIds(own, { accountId: ['account-77'] }), []);
  assert.deepEqual(candidateIds(own, {}), []);
  const groups = connectedTo(500, (index) => ({ 'properties.n': { in: [index, index + 1] } }));
  assert.deepEqual(candidateIds(groups, { n: 77 }), ['d76', 'd77']);
});

test('a condition that all share does not stand in the way of one of their own', () => {
  const connected = connectedTo(500, (index) => ({
    type: 'track',
    'properties.accountId': `account-${index}`,
    'properties.shop': { in: ['eu', 'us'] },
  }));
  const found = candidateIds(connected, { shop: 'eu', accountId: 'account-77' });
  assert.ok(found.includes('d77') && found.length < 5, found.join());
});

test('a destination that no condition finds is looked at for each call', () => {
  const connected = connectedTo(3, (index) => ({
    any: [{ 'properties.accountId': `account-${index}` }],
  }));
  assert.deepEqual(candidateIds(connected, {}), ['d0', 'd1', 'd2']);
});
