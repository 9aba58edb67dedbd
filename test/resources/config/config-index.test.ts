import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { ConfigIndex } from '../../../src/resources/config/config-index.ts';
import type { Destination, Source } from '../../../src/resources/resource.ts';
import { candidatesOf, exampleDestination, exampleSource } from '../examples.ts';

const ids = ['a', 'b', 'c', 'd'];
const writeKeys = ['k1', 'k2', 'k3'];
const some = (names: readonly string[]): fc.Arbitrary<string[]> =>
  fc.subarray([...names], { minLength: 1 });

const sources = fc
  .record({ id: fc.constantFrom(...ids), writeKeys: some(writeKeys) })
  .map((changes) => exampleSource(changes));
const destinations = fc
  .record({ id: fc.constantFrom(...ids), sources: some(ids), enabled: fc.boolean() })
  .map((changes) => exampleDestination(changes));

type Step =
  | { readonly put: Source | Destination }
  | { readonly sealed: Destination }
  | { readonly gone: 'Source' | 'Destination'; readonly id: string };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.oneof(sources, destinations).map((put) => ({ put })),
    destinations.map((sealed) => ({ sealed })),
    fc
      .tuple(fc.constantFrom('Source' as const, 'Destination' as const), fc.constantFrom(...ids))
      .map(([gone, id]) => ({ gone, id })),
  ),
  { maxLength: 30 },
);

/** The latest record of each resource, in their order: what compaction leaves. */
function latestOf(all: readonly Step[]): Step[] {
  const latest = new Map<string, Step>();
  for (const step of all) {
    const key =
      'gone' in step
        ? `${step.gone}/${step.id}`
        : 'put' in step
          ? `${step.put.kind}/${step.put.id}`
          : `Destination/${step.sealed.id}`;
    // A destination that could be read stays in force when a later version of it cannot.
    const before = latest.get(key);
    if ('sealed' in step && before !== undefined && 'put' in before) continue;
    latest.delete(key);
    latest.set(key, step);
  }
  return [...latest.values()];
}

function indexOf(all: readonly Step[]): ConfigIndex {
  const index = new ConfigIndex();
  for (const step of all)
    if ('put' in step) index.put(step.put);
    else if ('gone' in step) index.remove({ kind: step.gone, id: step.id });
    else if (!index.has({ kind: 'Destination', id: step.sealed.id })) index.putSealed(step.sealed);
  return index;
}

/** Everything that stages look up, found by looking at each resource. */
function expectedOf(latest: readonly Step[]): object {
  const put = latest.flatMap((step) => ('put' in step ? [step.put] : []));
  const connected = latest
    .flatMap((step) => ('put' in step ? [step.put] : 'sealed' in step ? [step.sealed] : []))
    .filter((resource) => resource.kind === 'Destination')
    .filter(({ enabled }) => enabled)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const owner = (key: string): string | undefined =>
    put.find((each) => each.kind === 'Source' && each.writeKeys.includes(key))?.id;
  return {
    owners: writeKeys.map(owner),
    connected: ids.map((id) => connected.filter((each) => each.sources.includes(id))),
  };
}

test('what changes one by one gives the lookups that a process has which starts after it', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const index = indexOf(all);
      assert.deepEqual(
        {
          owners: writeKeys.map((key) => index.sourceByWriteKey(key)?.id),
          connected: ids.map((id) => candidatesOf(index, id)),
        },
        expectedOf(latestOf(all)),
      );
    }),
  );
});

test('a change leaves alone what is known of other sources', () => {
  const index = indexOf([
    { put: exampleDestination({ id: 'crm', sources: ['shop'] }) },
    { put: exampleDestination({ id: 'mail', sources: ['app'] }) },
  ]);
  const before = index.destinationsOf('shop');
  index.put(exampleDestination({ id: 'mail', sources: ['app'], enabled: false }));
  assert.equal(index.destinationsOf('shop'), before);
  assert.deepEqual(candidatesOf(index, 'app'), []);
});
