import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configurationOf } from '../../src/console/api/configured.ts';
import { inOrder } from '../../src/console/api/destinations.ts';
import { orders } from '../../src/console/api/choices.ts';
import type { JudgedView } from '../../src/event/destination-health.ts';
import { exampleDestination } from '../resources/examples.ts';
import type { Resource, Source } from '../../src/resources/resource.ts';

const resources = new Map(
  ['c', 'a', 'e', 'b', 'd'].map((id): [string, Source] => [
    `Source/${id}`,
    { kind: 'Source', id, name: `Shop ${id.toUpperCase()}`, writeKeys: [`wk-${id}`] },
  ]),
);
const unreadable = new Map(
  Array.from({ length: 300 }, (_, n) => [`Destination/d${n}`, 'encrypted with another key']),
);
const live = { resources, unreadable };
const all = { search: '', kind: undefined, behind: undefined, limit: 2 };

function idsOf(items: readonly object[]): string[] {
  return items.map((each) => (each as Source).id);
}

test('pages of the configuration hold each resource once, in order', () => {
  const seen: string[][] = [];
  let behind: string | undefined;
  do {
    const { items, last } = configurationOf(live, { ...all, behind });
    seen.push(idsOf(items));
    behind = last;
  } while (behind !== undefined);
  assert.deepEqual(seen, [['a', 'b'], ['c', 'd'], ['e']]);
});

test('a search narrows the page and not the counts, and what cannot be read is bounded', () => {
  const found = configurationOf(live, { ...all, search: 'SHOP D' });
  assert.deepEqual(idsOf(found.items), ['d']);
  assert.deepEqual(configurationOf(live, { ...all, kind: 'Audience' }).items, []);
  assert.deepEqual(
    [found.kinds, found.unreadable.length, found.unreadableTotal],
    [{ Source: 5 }, 100, 300],
  );
});

test('the configuration is found by customer, and says what the API manages', () => {
  const made = exampleDestination({ customer: 'Acme', managedBy: 'api' });
  const both = new Map<string, Resource>([
    ...resources,
    ['Destination/crm', made],
    ['Destination/ads', exampleDestination({ id: 'ads' })],
  ]);
  const { items } = configurationOf({ resources: both, unreadable }, { ...all, search: 'acme' });
  assert.deepEqual(idsOf(items), ['crm']);
  assert.partialDeepStrictEqual(items, [{ customer: 'Acme', managedBy: 'api' }]);
});

test('destinations are listed by urgency, dead letters, what waits, or p99, the most first', () => {
  const views = [
    { destination: 'failing', waiting: { total: 5 } },
    { destination: 'slow', waiting: { total: 0 }, p99Ms: 900 },
    { destination: 'quick', waiting: { total: 7 }, p99Ms: 30 },
  ] as unknown as readonly JudgedView[];
  const letters: Readonly<Record<string, number>> = { quick: 3, slow: 9 };
  const listed = orders.map((order) =>
    inOrder(views, order, (id) => letters[id] ?? 0).map(({ destination }) => destination),
  );
  assert.deepEqual(listed, [
    ['failing', 'slow', 'quick'],
    ['slow', 'quick', 'failing'],
    ['quick', 'failing', 'slow'],
    ['slow', 'quick', 'failing'],
  ]);
});
