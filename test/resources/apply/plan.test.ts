import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatChange,
  planApply,
  planDeletion,
  type Change,
  type NewIdentity,
  type PlanOptions,
} from '../../../src/resources/apply/plan.ts';
import { changesInWords } from '../../../src/resources/apply/changes-in-words.ts';
import { noVariables } from '../../../src/resources/apply/interpolate.ts';
import { parseDocuments, type ParsedFile } from '../../../src/resources/apply/document.ts';
import { formatProblem, InvalidResources } from '../../../src/resources/problem.ts';
import { managerOf, type Resource } from '../../../src/resources/resource.ts';
import { createSecretKeys } from '../../../src/resources/config/secrets.ts';
import {
  decodeResource,
  encodeResource,
  openResource,
  recordKey,
  storedUid,
  toDocument,
} from '../../../src/resources/config/stored.ts';
import type { StoredResources } from '../../../src/resources/config/stored-resources.ts';
import {
  exampleAudience,
  exampleBounds,
  exampleDestination,
  exampleKeys,
  exampleSource,
  otherKeys,
} from '../examples.ts';

function filesOf(...resources: readonly Resource[]): ParsedFile {
  const text = resources.map((each) => JSON.stringify(toDocument(each))).join('\n---\n');
  return parseDocuments('f.yaml', text, 'yaml', noVariables);
}

function storedOf(...resources: readonly Resource[]): StoredResources {
  return new Map(
    resources.map((resource) => [
      recordKey(resource),
      {
        name: resource,
        uid: 'uid' in resource ? resource.uid : undefined,
        ...(managerOf(resource) === 'api' ? { managedBy: 'api' } : {}),
        sealed: decodeResource(resource, encodeResource(resource, exampleKeys)),
      },
    ]),
  );
}

function plan(
  files: ParsedFile,
  stored: StoredResources = new Map(),
  options: Partial<PlanOptions> = {},
): readonly Change[] {
  return planApply(files, stored, {
    secretKeys: exampleKeys,
    prune: false,
    rename: false,
    newKey: false,
    takeOver: false,
    endOverlap: false,
    ...exampleBounds,
    nowMs: 0,
    records: new Map(),
    identityOf: () => ({}),
    ...options,
  });
}

function problemsOf(
  files: ParsedFile,
  stored?: StoredResources,
  options?: Partial<PlanOptions>,
): string[] {
  try {
    plan(files, stored, options);
  } catch (error) {
    assert.ok(error instanceof InvalidResources);
    return error.problems.map(formatProblem);
  }
  return [];
}

test('new resources are created, sources before the destinations that name them', () => {
  const changes = plan(filesOf(exampleDestination(), exampleSource()));
  assert.deepEqual(changes.map(formatChange), ['create Source shop', 'create Destination crm']);
  for (const { resource, value } of changes) {
    assert.ok(resource !== undefined && typeof value === 'string');
    assert.deepEqual(openResource(decodeResource(resource, value), exampleKeys), resource);
  }
});

test('a new destination gets a uid, and keeps it whatever changes, also where its record cannot be read', () => {
  const uidsOf = (changes: readonly Change[]): unknown[] =>
    changes.map(({ kind, resource, note }) => [
      kind,
      resource !== undefined && 'uid' in resource ? resource.uid : undefined,
      note,
    ]);
  const identityOf = (): NewIdentity => ({ uid: 'new', note: 'why' });
  const files = filesOf(exampleSource(), exampleDestination({ name: 'Other' }));
  assert.deepEqual(uidsOf(plan(files, new Map(), { identityOf })), [
    ['Source', undefined, undefined],
    ['Destination', 'new', 'why'],
  ]);
  const before = storedOf(exampleDestination({ uid: 'kept' }));
  const name = exampleDestination();
  const unreadable: StoredResources = new Map([['Destination/crm', { name, uid: 'kept' }]]);
  const first = storedOf(exampleDestination());
  for (const [stored, uid] of [
    [before, 'kept'],
    [unreadable, 'kept'],
    [first, undefined],
  ] as const) {
    const [, change] = plan(files, stored, { identityOf });
    assert.equal(change?.action, 'update');
    assert.deepEqual(uidsOf([change])[0], ['Destination', uid, undefined]);
    assert.equal(storedUid(change.value ?? ''), uid);
  }
});

test('a changed secret overlaps: the former one is kept encrypted, through every apply until its end', () => {
  const hourMs = 3_600_000;
  const signing = (sharedSecret: string, more: object = {}): Resource =>
    exampleDestination({ sharedSecret, signature: 'standard', ...more });
  const source = exampleSource();
  const storedAfter = ([, change]: readonly Change[]): StoredResources => {
    const { resource, value } = change ?? {};
    if (resource === undefined || typeof value !== 'string') return assert.fail('nothing written');
    return new Map([
      ...storedOf(source),
      [recordKey(resource), { name: resource, sealed: decodeResource(resource, value) }],
    ]);
  };
  const texts = (changes: readonly Change[]): string[] => changes.slice(1).map(formatChange);
  const files = filesOf(source, signing('s3cond'));
  const changes = plan(files, storedOf(source, signing('f1rst')));
  assert.deepEqual(texts(changes), [
    'update Destination crm: sharedSecret (the former secret signs as well until 1970-01-02T00:00:00.000Z)',
  ]);
  assert.doesNotMatch(JSON.stringify(changes[1]?.value), /f1rst|s3cond/);
  const stored = storedAfter(changes);
  assert.deepEqual(texts(plan(files, stored, { nowMs: hourMs })), ['unchanged Destination crm']);
  const renamed = filesOf(source, signing('s3cond', { name: 'Other' }));
  const formerOf = ([, change]: readonly Change[]): unknown =>
    change?.resource?.kind === 'Destination' ? change.resource.formerSecrets : undefined;
  assert.deepEqual(formerOf(plan(renamed, stored, { nowMs: hourMs })), [
    { secret: 'f1rst', untilMs: 24 * hourMs },
  ]);
  assert.equal(formerOf(plan(renamed, stored, { nowMs: 24 * hourMs })), undefined);
  const ended = plan(files, stored, { nowMs: hourMs, endOverlap: true });
  assert.deepEqual(texts(ended), ['update Destination crm: end of the former secrets']);
  assert.equal(formerOf(ended), undefined);
  assert.deepEqual(texts(plan(files, storedAfter(ended), { endOverlap: true })), [
    'unchanged Destination crm',
  ]);
  assert.equal(formerOf(plan(files, storedOf(source))), undefined, 'made again');
  const newKey = plan(files, stored, { secretKeys: otherKeys, newKey: true });
  assert.equal(formerOf(newKey), undefined, 'it cannot be read');
});

test('applying the same again writes nothing', () => {
  const changes = plan(
    filesOf(exampleSource(), exampleDestination()),
    storedOf(exampleSource(), exampleDestination()),
  );
  assert.deepEqual(changes.map(formatChange), [
    'unchanged Source shop',
    'unchanged Destination crm',
  ]);
  assert.ok(changes.every(({ value }) => value === undefined));
});

test('an update names the fields that differ, and no value', () => {
  const files = filesOf(
    exampleSource({ name: 'Shop' }),
    exampleDestination({ sharedSecret: 'other', events: ['track'] }),
  );
  assert.deepEqual(plan(files, storedOf(exampleSource(), exampleDestination())).map(formatChange), [
    'update Source shop: name',
    'update Destination crm: events, sharedSecret (X-Signature has room for one secret: the new one counts at once)',
  ]);
});

test('what the previous key encrypted is written again with the new one', () => {
  const secretKeys = createSecretKeys(Buffer.alloc(32, 9), Buffer.alloc(32, 1));
  const changes = plan(
    filesOf(exampleSource(), exampleDestination()),
    storedOf(exampleSource(), exampleDestination()),
    { secretKeys },
  );
  assert.deepEqual(changes.map(formatChange), [
    'unchanged Source shop',
    'update Destination crm: encryption key',
  ]);
});

test('a stored resource that nobody can read any more can be applied again', () => {
  const files = filesOf(exampleSource(), exampleDestination({ name: 'New' }));
  const stored = new Map([
    ...storedOf(exampleDestination()),
    ['Source/shop', { name: exampleSource() }],
  ]);
  const options = { secretKeys: otherKeys, newKey: true };
  assert.deepEqual(plan(files, stored, options).map(formatChange), [
    'update Source shop: the stored record, which could not be read',
    'update Destination crm: name, secrets, which could not be decrypted',
  ]);
});

test('a key that reads no stored secret writes none', () => {
  const secretKeys = otherKeys;
  const stored = storedOf(exampleSource(), exampleDestination());
  const isRefused = {
    code: 'secret-unreadable',
    message: /^no stored secret can be read with this SECRET_KEY \(Destination crm: .*--new-key$/,
  };
  for (const id of ['crm', 'another']) {
    const files = filesOf(exampleSource(), exampleDestination({ id, name: 'New' }));
    assert.throws(() => plan(files, stored, { secretKeys }), isRefused);
  }
  const source = filesOf(exampleSource({ name: 'New' }));
  assert.equal(plan(source, stored, { secretKeys }).length, 1);
  const rotating = createSecretKeys(Buffer.alloc(32, 2), Buffer.alloc(32, 1));
  assert.equal(plan(filesOf(exampleDestination()), stored, { secretKeys: rotating }).length, 1);
});

test('the same URL twice in one destination is refused, however it is written', () => {
  const urls = ['https://crm.example.com/a', 'HTTPS://CRM.example.com:443/a'];
  const webhooks = urls.map((url) => ({ url, headers: {} }));
  assert.throws(() => plan(filesOf(exampleSource(), exampleDestination({ webhooks }))), {
    message: /webhooks\[1\]\.url: is the same URL as webhooks\[0\]\.url; each is posted to once$/,
  });
});

test('secrets without a key to encrypt them are refused before anything is written', () => {
  assert.throws(
    () => plan(filesOf(exampleSource(), exampleDestination()), undefined, { secretKeys: {} }),
    {
      code: 'secret-unreadable',
      message: /^Destination crm: .*SECRET_KEY is not set/,
    },
  );
});

test('with prune, what the files do not name is deleted, destinations before sources', () => {
  const stored = storedOf(
    exampleSource(),
    exampleSource({ id: 'old', writeKeys: [] }),
    exampleDestination({ id: 'old', sources: ['old'] }),
  );
  const changes = plan(filesOf(exampleSource()), stored, { prune: true });
  assert.deepEqual(
    changes.map((change) => [formatChange(change), change.value]),
    [
      ['unchanged Source shop', undefined],
      ['delete Destination old', null],
      ['delete Source old', null],
    ],
  );
  assert.equal(plan(filesOf(exampleSource()), stored).length, 1);
});

test('a destination may name a stored source, but none that does not exist or is pruned', () => {
  const files = filesOf(exampleDestination({ sources: ['shop', 'gone'] }));
  assert.deepEqual(problemsOf(files, storedOf(exampleSource())), [
    'f.yaml:1: sources[1]: source gone does not exist',
  ]);
  assert.equal(problemsOf(files, storedOf(exampleSource()), { prune: true }).length, 2);
  for (const near of ['shpo', 'shops', 'web-shop'])
    assert.deepEqual(
      problemsOf(filesOf(exampleDestination({ sources: [near] })), storedOf(exampleSource())),
      [`f.yaml:1: sources[0]: source ${near} does not exist; did you mean shop?`],
    );
});

test('a source with a mistake is not also reported as missing', () => {
  const files = parseDocuments(
    'f.yaml',
    'kind: Source\nid: shop\nwriteKeys: []\n---\n' +
      JSON.stringify(toDocument(exampleDestination())),
    'yaml',
    noVariables,
  );
  assert.deepEqual(problemsOf(files), ['f.yaml:1: name: is missing']);
});

test('a write key belongs to one source, of the files and of those stored', () => {
  const key = { writeKeys: ['wk_shop'] };
  assert.deepEqual(problemsOf(filesOf(exampleSource(key), exampleSource({ ...key, id: 'b' }))), [
    'f.yaml:3: writeKeys[0]: wk_shop is already a write key of source shop; write keys are unique',
  ]);
  const other = filesOf(exampleSource({ ...key, id: 'b' }));
  assert.equal(problemsOf(other, storedOf(exampleSource())).length, 1);
  assert.deepEqual(problemsOf(other, storedOf(exampleSource()), { prune: true }), []);
});

test('a write key can move to another source in one apply', () => {
  const files = filesOf(
    exampleSource({ id: 'b', writeKeys: ['wk_shop'] }),
    exampleSource({ writeKeys: [] }),
  );
  assert.deepEqual(problemsOf(files, storedOf(exampleSource())), []);
});

test('the same resource twice is refused with the place of the first', () => {
  assert.deepEqual(problemsOf(filesOf(exampleSource(), exampleSource({ writeKeys: [] }))), [
    'f.yaml:3: id: Source shop is already defined at f.yaml:1',
  ]);
});

test('problems of every kind are reported together, from top to bottom', () => {
  const files = parseDocuments(
    'f.yaml',
    [
      'kind: Nonsense',
      'kind: Source\nid: a\nname: ${MISSING}\nwriteKeys: []',
      'kind: Destination\nid: crm\nname: CRM\nsources: [none]\nwebhooks: [{ url: "https://x" }]',
    ].join('\n---\n'),
    'yaml',
    noVariables,
  );
  assert.deepEqual(problemsOf(files), [
    'f.yaml:1: kind: is not a kind of resource; allowed: Source, Destination, Audience, ComputedTrait, NoticeHook',
    'f.yaml:5: name: the environment variable MISSING is not set',
    'f.yaml:11: sources[0]: source none does not exist',
  ]);
});

const files = { takeOver: false };

test('what others name cannot be deleted', () => {
  const stored = storedOf(
    exampleSource(),
    exampleDestination(),
    exampleDestination({ id: 'b' }),
    exampleAudience({ destinations: ['b'] }),
  );
  assert.throws(() => planDeletion(stored, { kind: 'Source', id: 'shop' }, files), {
    exitCode: 1,
    message:
      'Source shop cannot be deleted, because it is named by Audience big-spenders, Destination b, Destination crm',
  });
  assert.throws(() => planDeletion(stored, { kind: 'Destination', id: 'b' }, files), {
    message: 'Destination b cannot be deleted, because it is named by Audience big-spenders',
  });
  assert.equal(planDeletion(stored, { kind: 'Destination', id: 'crm' }, files).value, null);
  assert.equal(planDeletion(stored, { kind: 'Audience', id: 'big-spenders' }, files).value, null);
});

const ofApi = exampleDestination({ uid: 'u1', managedBy: 'api' });
const madeByFiles = exampleDestination({ uid: 'u1' });

test('apply neither changes nor takes over what the API manages, unless it is told to', () => {
  for (const stored of [
    storedOf(exampleSource(), ofApi),
    new Map([['Destination/crm', { name: ofApi, uid: 'u1', managedBy: 'api' as const }]]),
  ])
    for (const changes of [{}, { name: 'Other' }])
      assert.deepEqual(problemsOf(filesOf(exampleSource(), exampleDestination(changes)), stored), [
        'f.yaml:3: id: Destination crm is managed by the API: change it there and take it out of the files, or give --take-over, and files manage it from then on',
      ]);
  const source = exampleSource({ managedBy: 'api' });
  assert.match(problemsOf(filesOf(exampleSource()), storedOf(source))[0] ?? '', /Source shop is/);
});

test('what files take over changes its manager, and nothing else', () => {
  const stored = storedOf(exampleSource(), ofApi);
  const [, change] = plan(filesOf(exampleSource(), exampleDestination()), stored, {
    takeOver: true,
  });
  assert.equal(change?.action, 'update');
  assert.deepEqual(change.fields, [
    { path: 'managedBy', values: { before: 'api', after: 'files' } },
  ]);
  assert.deepEqual(change.resource, madeByFiles);
  const decoded = decodeResource(madeByFiles, change.value ?? '');
  assert.deepEqual(openResource(decoded, exampleKeys), madeByFiles);
});

test('pruning leaves what the API manages, also where files take over what they name', () => {
  const more = exampleDestination({ id: 'old' });
  const stored = storedOf(exampleSource(), ofApi, more);
  for (const takeOver of [false, true])
    assert.deepEqual(
      plan(filesOf(exampleSource()), stored, { prune: true, takeOver }).map(formatChange),
      ['unchanged Source shop', 'delete Destination old'],
    );
});

test('pruning refuses to delete a source whose calls go to a destination of the API', () => {
  const other = exampleSource({ id: 'other', writeKeys: ['wk_other'] });
  assert.throws(() => plan(filesOf(other), storedOf(exampleSource(), ofApi), { prune: true }), {
    code: 'resource-invalid',
    message: 'Source shop cannot be deleted, because it is named by Destination crm',
  });
});

test('delete leaves what the API manages, unless it is told to', () => {
  const stored = storedOf(exampleSource(), ofApi);
  const name = { kind: 'Destination', id: 'crm' } as const;
  assert.throws(() => planDeletion(stored, name, files), {
    code: 'resource-invalid',
    message: 'Destination crm is managed by the API: delete it there, or give --take-over',
  });
  assert.equal(planDeletion(stored, name, { takeOver: true }).value, null);
});

test('the audit has the former and the new value of each field, without secrets', () => {
  const stored = storedOf(exampleSource(), exampleDestination(), exampleDestination({ id: 'old' }));
  const wanted = exampleDestination({
    name: 'Other',
    customer: 'acme',
    sharedSecret: 'another',
    webhooks: [
      { url: 'https://b.example.com/?token=s3cret', headers: { Authorization: 'Bearer n3w' } },
    ],
  });
  const made = exampleDestination({ id: 'new' });
  const changes = plan(filesOf(exampleSource(), wanted, made), stored, { prune: true });
  const words = changesInWords(changes.filter(({ value }) => value !== undefined));
  assert.deepEqual(words.split('; '), [
    'delete Destination/old: name "CRM" → not set, sources ["shop"] → not set, enabled true → not set, webhooks [{"url":"https://crm.example.com","headers":{"Authorization":(secret)}}] → not set, payload "standard" → not set, topic "shared" → not set, sharedSecret (secret) → not set',
    'update Destination/crm: name "CRM" → "Other", customer "acme", webhooks[0].url "https://crm.example.com" → "https://b.example.com/?(not shown)", webhooks[0].headers.Authorization (secret), sharedSecret (secret)',
    'create Destination/new: name "CRM", sources ["shop"], enabled true, webhooks [{"url":"https://crm.example.com","headers":{"Authorization":(secret)}}], payload "standard", topic "shared", sharedSecret (secret)',
  ]);
  assert.equal(
    changesInWords(plan(filesOf(exampleSource()))),
    'create Source/shop: name "Web shop", writeKeys "(1 key, not shown)"',
  );
});

test('what the audit has of a change is bounded', () => {
  const headers = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`X-${i}`, 'v']));
  const webhooks = [1, 2].map((i) => ({ url: `https://crm${i}.example.com`, headers }));
  const many = Array.from({ length: 40 }, (_, i) =>
    exampleDestination({ id: `d${i}`, name: 'x'.repeat(200), webhooks }),
  );
  const source = exampleSource();
  const before = storedOf(source, ...many.map(({ id }) => exampleDestination({ id })));
  for (const stored of [before, new Map()]) {
    const words = changesInWords(plan(filesOf(source, ...many), stored));
    assert.ok(words.length < 80_000, `${words.length} characters`);
    assert.match(words, /and 2\d more$/);
  }
});

test('deleting what is not there is a clear sentence', () => {
  assert.throws(() => planDeletion(new Map(), { kind: 'Destination', id: 'x' }, files), {
    code: 'not-found',
    exitCode: 1,
    message: 'there is no Destination x',
  });
});

test('a maxInFlight of more than a quarter of what a worker may have in flight is refused', () => {
  const problems = (maxInFlight: number, deliveryMaxInFlight: number): string[] =>
    problemsOf(filesOf(exampleSource(), exampleDestination({ maxInFlight })), new Map(), {
      deliveryMaxInFlight,
    });
  const reason = (most: number, of: number): string =>
    `f.yaml:3: maxInFlight: must be at most ${most}, a quarter of DELIVERY_MAX_IN_FLIGHT (${of}); the rest is for other destinations`;
  assert.deepEqual(problems(256, 1_024), []);
  assert.deepEqual(problems(257, 1_024), [reason(256, 1_024)]);
  assert.deepEqual(problems(26, 103), [reason(25, 103)]);
  assert.deepEqual(problems(1, 1), []);
});

test('a maxInFlight that was applied with another setting stands in the way of no other resource', () => {
  const stored = storedOf(exampleSource(), exampleDestination({ maxInFlight: 1_024 }));
  assert.deepEqual(problemsOf(filesOf(exampleSource({ name: 'Shop' })), stored), []);
});

test('rules for retries that the settings leave no room for are refused', () => {
  const problems = (retry: object, bounds: Partial<PlanOptions>): string[] =>
    problemsOf(filesOf(exampleSource(), exampleDestination({ retry })), new Map(), bounds);
  const hour = { retryWindowMs: 3_600_000 };
  assert.deepEqual(problems({ window: '1h' }, hour), []);
  assert.deepEqual(problems({ window: '61m' }, hour), [
    'f.yaml:3: retry.window: is more than RETRY_WINDOW (1h), which counts instead',
  ]);
  assert.deepEqual(problems({ window: '12s' }, hour), []);
  assert.deepEqual(problems({ window: '11s' }, hour), [
    'f.yaml:3: retry.window: leaves no time for a retry: the first one may come 12s after a failure, as RETRY_TIERS says',
  ]);
  assert.deepEqual(problems({ timeout: '2s' }, { deliveryTimeoutMs: 2_000 }), []);
  assert.deepEqual(problems({ timeout: '3s' }, { deliveryTimeoutMs: 2_000 }), [
    'f.yaml:3: retry.timeout: is more than DELIVERY_TIMEOUT (2s), which counts instead',
  ]);
});

test('an id that is a mapping is a problem at its place, whatever is in it', () => {
  const file = parseDocuments('f.yaml', 'kind: Source\nid: {toString: 1}\n', 'yaml', noVariables);
  assert.throws(() => plan(file), InvalidResources);
});
