import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatPath } from '../../../src/resources/problem.ts';
import { isTraitName, traitName } from '../../../src/resources/schema/audience-schema.ts';
import { secretMask } from '../../../src/resources/schema/schema-parts.ts';
import { parseResource } from '../../../src/resources/schema/schema.ts';
import fc from '../../harness/fast-check.ts';

const members = { file: 'members.csv', userId: 'customer_id' };
const audience = { kind: 'Audience', id: 'big', name: 'Big Spenders', source: 'shop', members };
const values = { file: 'ltv.parquet', userId: 'customer_id', value: 'total' };
const trait = { kind: 'ComputedTrait', id: 'ltv', name: 'Lifetime Value', source: 'shop', values };

function issuesOf(document: object): string[] {
  const parsed = parseResource(document);
  return 'issues' in parsed
    ? parsed.issues.map(({ path, reason }) => `${formatPath(path)}: ${reason}`)
    : [];
}

function membersIssue(given: object): string {
  const issues = issuesOf({ ...audience, members: given });
  assert.equal(issues.length, 1, issues.join('\n'));
  return issues[0] ?? '';
}

test('an audience and a computed trait get the trait of their name', () => {
  assert.deepEqual(parseResource(audience), { resource: { ...audience, trait: 'big_spenders' } });
  assert.deepEqual(parseResource(trait), { resource: { ...trait, trait: 'lifetime_value' } });
  const parsed = parseResource(audience);
  assert.ok('resource' in parsed && Object.isFrozen(parsed.resource));
});

test('a trait can be given, as `get` prints it', () => {
  const given = { ...audience, trait: 'bigSpenders' };
  assert.deepEqual(parseResource(given), { resource: given });
  for (const wrong of ['', 'a b', '_a', 'a_', 'a__b', 'a.b'])
    assert.deepEqual(issuesOf({ ...audience, trait: wrong }), [
      'trait: must be letters and digits, with single _ between them',
    ]);
});

test('a name that gives no trait is refused, unless the trait is given', () => {
  assert.deepEqual(issuesOf({ ...audience, name: '€ !' }), [
    'name: must have a letter or a digit, because its trait is named after it',
  ]);
  assert.deepEqual(issuesOf({ ...audience, name: '€ !', trait: 'euro' }), []);
});

test('calls can be chosen, and the usual one is stored as none', () => {
  const emitOf = (emit: unknown, base: object = audience): unknown => {
    const parsed = parseResource({ ...base, emit });
    return 'resource' in parsed && 'emit' in parsed.resource ? parsed.resource.emit : undefined;
  };
  assert.deepEqual(emitOf('track'), ['track']);
  assert.deepEqual(emitOf(['track', 'identify']), ['identify', 'track']);
  assert.deepEqual(emitOf(['track'], trait), ['track']);
  for (const usual of ['identify', ['identify'], undefined]) assert.equal(emitOf(usual), undefined);
  for (const wrong of ['page', [], ['track', 'page'], true])
    assert.deepEqual(issuesOf({ ...audience, emit: wrong }), [
      'emit: must be identify, track, or a list of them',
    ]);
});

test('a trait cannot have the name of the property that stands beside it in track calls', () => {
  const issue = 'must not give the trait audience_key, which track calls have beside the trait';
  assert.deepEqual(issuesOf({ ...audience, name: 'Audience Key', emit: 'track' }), [
    `name: ${issue}`,
  ]);
  assert.deepEqual(issuesOf({ ...audience, trait: 'audience_key', emit: ['track'] }), [
    `trait: ${issue}`,
  ]);
  assert.deepEqual(issuesOf({ ...audience, trait: 'audience_key' }), []);
  assert.deepEqual(issuesOf({ ...trait, trait: 'audience_key', emit: 'track' }), []);
});

test('every way to say where rows are is understood', () => {
  for (const given of [
    { file: 'members/', format: 'parquet', userId: 'id' },
    { file: 'members/*.ndjson.gz', userId: 'id' },
    { file: 'm.csv', header: false, userId: 2 },
    { file: 'm.txt', format: 'csv', delimiter: '\t', header: true, userId: '7' },
    { postgres: 'postgres://u:p@h/d', query: 'select id from t' },
  ])
    assert.deepEqual(issuesOf({ ...audience, members: given }), []);
  for (const given of [
    { ...values, file: 'v.csv', type: 'number' },
    { file: 'v.csv.gz', header: false, userId: 1, value: 2, type: 'text' },
    { postgres: 'postgres://u:p@h/d', query: 'select id, total from t' },
  ])
    assert.deepEqual(issuesOf({ ...trait, values: given }), []);
});

test('rows come from either files, a database or a query over files', () => {
  for (const given of [{}, { userId: 'id' }, { ...members, postgres: 'postgres://h/d' }])
    assert.equal(membersIssue(given), 'members: must have one of file, postgres and sql');
  assert.equal(membersIssue({ postgres: 'postgres://h/d' }), 'members.query: is missing');
  assert.equal(membersIssue({ file: 'm.csv' }), 'members.userId: is missing');
  assert.deepEqual(issuesOf({ ...trait, values: members }), ['values.value: is missing']);
  assert.deepEqual(issuesOf({ ...audience, members: 'm.csv' }), ['members: must be a mapping']);
});

test('how old data may be is a duration, and for a database a query for its time', () => {
  assert.deepEqual(issuesOf({ ...audience, members: { ...members, maxAge: '26h' } }), []);
  const query = { postgres: 'postgres://h/d', query: 'q' };
  const aged = { ...query, maxAge: '26h', asOf: 'select now()' };
  assert.deepEqual(issuesOf({ ...audience, members: aged }), []);
  assert.match(membersIssue({ ...members, maxAge: '26' }), /^members\.maxAge: must be a dur/);
  assert.match(membersIssue({ ...query, maxAge: '26h' }), /^members\.asOf: is missing: a q/);
  assert.match(membersIssue({ sql: 'q', asOf: 'q' }), /^members\.maxAge: is missing: how/);
});

test('an unknown field is refused with the ones that are allowed there', () => {
  assert.equal(
    membersIssue({ ...members, value: 'x' }),
    'members.value: is not a known field; allowed: file, complete, maxAge, format, header, delimiter, userId',
  );
  assert.equal(
    membersIssue({ postgres: 'postgres://h/d', query: 'q', userId: 'id' }),
    'members.userId: is not a known field; allowed: postgres, query, asOf, maxAge',
  );
  assert.deepEqual(issuesOf({ ...audience, values }), [
    'values: is not a known field; allowed: kind, id, name, trait, source, destinations, emit, limits, members',
  ]);
});

test('a misspelt field is told with the right one, which is not also told to be missing', () => {
  const { userId, ...rest } = members;
  assert.match(
    membersIssue({ ...rest, user_id: userId }),
    /^members\.user_id: is not a known field; did you mean userId\? Allowed: file, /,
  );
  assert.deepEqual(issuesOf({ ...audience, limits: { maxRemove: 7 } }), [
    'limits.maxRemove: is not a known field; did you mean maxRemoved? Allowed: maxRemoved, maxChanged, maxAdded',
  ]);
});

test('columns have names, and numbers where there is no header', () => {
  assert.match(
    membersIssue({ ...members, userId: 1 }),
    /^members\.userId: must be the column's name/,
  );
  assert.match(
    membersIssue({ ...members, header: false }),
    /^members\.userId: must be the column's number, from 1/,
  );
  for (const userId of [0, 1.5, '', 'a\nb', true, null])
    assert.match(membersIssue({ ...members, userId }), /^members\.userId: must be /);
});

test('what only CSV needs is refused elsewhere', () => {
  for (const given of [
    { ...members, file: 'm.parquet', header: true },
    { ...members, file: 'm.ndjson', delimiter: ';' },
    { ...members, file: 'members/', delimiter: ';' },
  ])
    assert.match(membersIssue(given), /is for CSV only; set `format: csv` if/);
  assert.match(issuesOf({ ...trait, values: { ...values, type: 'text' } }).join(), /CSV only/);
  for (const delimiter of ['', ';;', '"', '\n', 'a', '1'])
    assert.match(membersIssue({ ...members, delimiter }), /^members\.delimiter: must be one char/);
});

test('what `get` prints in place of a database URL cannot be applied', () => {
  const issue = membersIssue({ postgres: secretMask, query: 'select 1' });
  assert.match(issue, /^members\.postgres: .*give the secret itself/);
});

test('a name becomes the trait that a data team expects', () => {
  for (const [name, trait] of [
    ['Big Spenders', 'big_spenders'],
    ['Big Spenders (30 Days)', 'big_spenders_30_days'],
    ['VIP30Days', 'vip30_days'],
    ['VIPCustomers', 'vip_customers'],
    ['newUsers', 'new_users'],
    ['HTTPServer2Go', 'http_server2_go'],
    ['ABC', 'abc'],
    ['already_snake_case', 'already_snake_case'],
    ['  Lifetime -- Value £ ', 'lifetime_value'],
    ['__a__b__', 'a_b'],
    ['30 Days', '30_days'],
    ['Große Käufer', 'große_käufer'],
    ['Cafe\u0301s', 'cafés'],
    ['ÉtéÉtranger', 'été_étranger'],
    ['İndirim', 'indirim'],
    ['大口顧客 2026', '大口顧客_2026'],
    ['x\u{1d7d8}Y', 'x\u{1d7d8}_y'],
  ] as const)
    assert.equal(traitName(name), trait);
});

test('a name without letters and digits gives no trait', () => {
  for (const name of ['', ' ', '!?', '___', '\u0301', '€']) assert.equal(traitName(name), '');
});

const names = fc.string({ unit: 'binary', maxLength: 40 });
const plainNames = fc.string({ unit: 'binary-ascii', maxLength: 40 });

test('whatever the name, the trait is words of letters and digits, or nothing', () => {
  fc.assert(
    fc.property(names, (name) => {
      const trait = traitName(name);
      assert.ok(trait === '' || isTraitName(trait), JSON.stringify(trait));
      assert.equal(trait, trait.toLowerCase());
      assert.equal(trait === '', !/[\p{L}\p{N}]/u.test(name.normalize('NFC')));
    }),
    { numRuns: 2_000 },
  );
});

test('spelling the same characters in another way gives the same trait', () => {
  fc.assert(
    fc.property(names, (name) => {
      assert.equal(traitName(name.normalize('NFD')), traitName(name.normalize('NFC')));
    }),
  );
});

test('a trait is its own trait, and what surrounds a name does not matter', () => {
  fc.assert(
    fc.property(plainNames, fc.stringMatching(/^[ _().,!-]{0,5}$/), (name, around) => {
      const trait = traitName(name);
      assert.equal(traitName(trait), trait);
      assert.equal(traitName(`${around}${name}${around}`), trait);
    }),
  );
});

test('no letter or digit is lost or moved', () => {
  fc.assert(
    fc.property(plainNames, (name) => {
      const kept = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');
      assert.equal(kept(traitName(name)), kept(name));
    }),
  );
});
