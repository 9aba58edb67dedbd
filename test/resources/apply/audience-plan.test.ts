import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noVariables } from '../../../src/resources/apply/interpolate.ts';
import { parseDocuments } from '../../../src/resources/apply/document.ts';
import { formatChange, planApply, type PlanOptions } from '../../../src/resources/apply/plan.ts';
import { formatProblem, InvalidResources } from '../../../src/resources/problem.ts';
import type { ToldTrait } from '../../../src/resources/audiences/record.ts';
import type { Resource } from '../../../src/resources/resource.ts';
import { decodeResource, encodeResource, recordKey } from '../../../src/resources/config/stored.ts';
import type { StoredResources } from '../../../src/resources/config/stored-resources.ts';
import {
  exampleAudience,
  exampleBounds,
  exampleComputedTrait,
  exampleDestination,
  exampleKeys,
  exampleSource,
} from '../examples.ts';

const shop = exampleSource();
const crm = exampleDestination();

function storedOf(...resources: readonly Resource[]): StoredResources {
  return new Map(
    resources.map((resource) => [
      recordKey(resource),
      { name: resource, sealed: decodeResource(resource, encodeResource(resource, exampleKeys)) },
    ]),
  );
}

/** As people write it: the trait is not said. */
function withoutTrait(resource: Resource): object {
  return { ...resource, trait: undefined };
}

/** What apply prints, or the problems that it lists. */
function apply(
  documents: readonly object[],
  stored: StoredResources,
  options: Partial<PlanOptions> = {},
): readonly string[] {
  const text = documents.map((each) => JSON.stringify(each)).join('\n---\n');
  const files = parseDocuments('f.yaml', text, 'yaml', noVariables);
  const defaults = {
    secretKeys: exampleKeys,
    prune: false,
    rename: false,
    newKey: false,
    takeOver: false,
    endOverlap: false,
    ...exampleBounds,
    nowMs: 0,
    identityOf: () => ({}),
    records: new Map(),
  };
  try {
    return planApply(files, stored, { ...defaults, ...options }).map(formatChange);
  } catch (error) {
    assert.ok(error instanceof InvalidResources);
    return error.problems.map(formatProblem);
  }
}

test('an audience comes after what it names, and applying it again writes nothing', () => {
  const audience = exampleAudience({ destinations: ['crm'] });
  assert.deepEqual(apply([exampleComputedTrait(), audience, crm, shop], new Map()), [
    'create Source shop',
    'create Destination crm',
    'create Audience big-spenders',
    'create ComputedTrait ltv',
  ]);
  assert.deepEqual(apply([withoutTrait(audience)], storedOf(shop, crm, audience)), [
    'unchanged Audience big-spenders',
  ]);
});

test('a source and destinations that do not exist or are not connected are refused', () => {
  const audience = exampleAudience({ destinations: ['crm', 'gone', 'other'] });
  const other = exampleDestination({ id: 'other', sources: ['b'] });
  const b = exampleSource({ id: 'b', writeKeys: [] });
  assert.deepEqual(apply([audience], storedOf(shop, crm, other, b)), [
    'f.yaml:1: destinations[1]: destination gone does not exist',
    'f.yaml:1: destinations[2]: destination other does not receive calls of source shop; add the source to its sources',
  ]);
  assert.deepEqual(apply([exampleAudience({ source: 'x' })], storedOf(shop)), [
    'f.yaml:1: source: source x does not exist',
  ]);
  assert.deepEqual(apply([audience], storedOf(shop, crm), { prune: true }), [
    'f.yaml:1: source: source shop does not exist',
  ]);
});

test('a destination with a mistake is not also reported as missing', () => {
  const broken = { ...crm, webhooks: [] };
  assert.deepEqual(apply([shop, broken, exampleAudience({ destinations: ['crm'] })], new Map()), [
    'f.yaml:3: webhooks: must hold 1 to 5 webhooks',
  ]);
});

test('two audiences or computed traits that are delivered as one trait are refused', () => {
  const twin = exampleComputedTrait({ name: 'bigSpenders' });
  const reason =
    'name: bigSpenders is delivered as trait big_spenders, which is already the trait of Audience big-spenders';
  assert.deepEqual(apply([shop, exampleAudience(), twin], new Map()), [`f.yaml:5: ${reason}`]);
  assert.deepEqual(apply([twin], storedOf(shop, exampleAudience())), [`f.yaml:1: ${reason}`]);
  assert.deepEqual(apply([shop, twin], storedOf(shop, exampleAudience()), { prune: true }), [
    'unchanged Source shop',
    'create ComputedTrait ltv',
    'delete Audience big-spenders',
  ]);
});

test('a trait that users still have from another audience is refused until it is taken back', () => {
  const told = {
    kind: 'Audience',
    name: 'Big Spenders',
    source: 'shop',
    trait: 'big_spenders',
    formerDestinations: [],
    members: 3,
  } as const;
  const renamed = exampleAudience({ name: 'Whales', trait: 'whales' });
  const heir = exampleAudience({ id: 'heir', name: 'Big Spenders', trait: 'big_spenders' });
  const planned = (members: number, heirTold: readonly ToldTrait[] = []): readonly string[] =>
    apply([withoutTrait(heir)], storedOf(shop, renamed), {
      records: new Map([
        ['big-spenders', { told: [{ ...told, members }], syncs: [] }],
        ['heir', { told: heirTold, syncs: [] }],
      ]),
    });
  assert.deepEqual(planned(3), [
    'f.yaml:1: name: Big Spenders is delivered as trait big_spenders, which users still have from big-spenders: `audience-sync big-spenders --retire` takes it back from them first',
  ]);
  assert.deepEqual(planned(0), ['create Audience heir']);
  assert.deepEqual(planned(3, [told]), ['create Audience heir']);
});

test('an audience and a computed trait cannot have the same id', () => {
  const twin = exampleComputedTrait({ id: 'big-spenders' });
  assert.deepEqual(apply([twin], storedOf(shop, exampleAudience())), [
    'f.yaml:1: id: big-spenders is already the id of Audience big-spenders; audiences and computed traits share their ids',
  ]);
});

test('a trait stays when the name changes, and apply says so once', () => {
  const renamed = withoutTrait(exampleAudience({ name: 'Whales' }));
  assert.deepEqual(apply([renamed], storedOf(shop, exampleAudience())), [
    'update Audience big-spenders: name (the trait stays big_spenders, because at the receivers big_spenders would stay as it is; to change it to whales, use --rename)',
  ]);
  const kept = exampleAudience({ name: 'Whales', trait: 'big_spenders' });
  assert.deepEqual(apply([renamed], storedOf(shop, kept)), ['unchanged Audience big-spenders']);
});

test('a trait that stayed is still taken', () => {
  const kept = exampleAudience({ name: 'Whales', trait: 'big_spenders' });
  const other = exampleAudience({ id: 'other' });
  assert.match(
    apply([withoutTrait(kept), other], storedOf(shop, kept)).join(),
    /already the trait of Audience big-spenders$/,
  );
  const free = withoutTrait(exampleAudience({ id: 'other', name: 'Whales' }));
  assert.deepEqual(apply([free], storedOf(shop, kept)), ['create Audience other']);
});

test('with --rename the trait follows the name', () => {
  const renamed = withoutTrait(exampleAudience({ name: 'Whales' }));
  const stored = storedOf(shop, exampleAudience());
  assert.deepEqual(apply([renamed], stored, { rename: true }), [
    'update Audience big-spenders: name, trait (the trait becomes whales; big_spenders stays as it is at the receivers)',
  ]);
});

test('another trait that is given expressly is refused without --rename', () => {
  const given = exampleAudience({ trait: 'whales' });
  const stored = storedOf(shop, exampleAudience());
  assert.deepEqual(apply([given], stored), [
    'f.yaml:1: trait: is big_spenders and changes with --rename only, because at the receivers big_spenders would stay as it is',
  ]);
  assert.match(
    apply([given], stored, { rename: true }).join(),
    /^update .*: trait \(the trait becomes/,
  );
});

test('what is no URL of a PostgreSQL database is refused without being repeated', () => {
  for (const postgres of [
    's3cret',
    'mysql://u:s3cret@h/d',
    'host=h password=s3cret',
    'postgres://u:s3c#ret@h/d:x',
    'postgres://u:s3cret@h/d?sslmode=verify_full',
  ]) {
    const members = { postgres, query: 'select 1' };
    const [problem = '', ...more] = apply([shop, exampleAudience({ members })], new Map());
    assert.deepEqual(more, []);
    assert.match(problem, /^f\.yaml:3: members\.postgres: must (?:be|have) a/);
    assert.doesNotMatch(problem, /s3c/);
  }
  for (const postgres of [
    'postgresql://h:5433/d?sslmode=require',
    'postgres://u:p%40@/d?host=/run',
  ])
    assert.deepEqual(
      apply([exampleAudience({ members: { postgres, query: 'select 1' } })], storedOf(shop)),
      ['create Audience big-spenders'],
    );
});

test('files outside of the folder of lists, and URLs, are refused before anything is written', () => {
  const problem = (file: string): readonly string[] =>
    apply([exampleAudience({ members: { file, userId: 'id' } })], storedOf(shop));
  const outside = [
    'f.yaml:1: members.file: must be in AUDIENCE_FILES_DIR (/lists); a sync reads no other files',
  ];
  assert.deepEqual(problem('/etc/passwd'), outside);
  assert.deepEqual(problem('a/../../secrets/list.csv'), outside);
  assert.throws(() => problem('s3://bucket/list.csv'), /must be a file, not a URL/);
  const bySql = (sql: string): readonly string[] =>
    apply([exampleAudience({ members: { sql } })], storedOf(shop));
  for (const sql of [
    "select * from '/etc/passwd'",
    "select * from read_csv('../x.csv')",
    "select * from read_csv(['https://a.example/x.csv'])",
  ])
    assert.match(bySql(sql)[0] ?? '', /members\.sql: names .*, which is not in AUDIENCE_FILES_DIR/);
  assert.deepEqual(bySql("select id from 'a.csv' where url = 'https://a.example/'"), [
    'create Audience big-spenders',
  ]);
  assert.deepEqual(problem('/lists/a/../list.csv'), ['create Audience big-spenders']);
});
