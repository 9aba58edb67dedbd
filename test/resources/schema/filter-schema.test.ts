import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatPath } from '../../../src/resources/problem.ts';
import { parseResource } from '../../../src/resources/schema/schema.ts';

const destination = {
  kind: 'Destination',
  id: 'crm',
  name: 'CRM',
  sources: ['shop'],
  webhooks: [{ url: 'https://crm.example.com' }],
};

function issuesOf(filter: unknown): string[] {
  const parsed = parseResource({ ...destination, filter });
  return 'issues' in parsed
    ? parsed.issues.map(({ path, reason }) => `${formatPath(path)}: ${reason}`)
    : [];
}

/** `filter` as the only mistake: the sentence without the path, which is checked. */
function problemAt(path: string, filter: unknown): string {
  const issues = issuesOf(filter);
  assert.equal(issues.length, 1, issues.join('\n'));
  const [issue = ''] = issues;
  assert.ok(issue.startsWith(`filter${path}: `), issue);
  return issue.slice(`filter${path}: `.length);
}

test('a filter is kept as it is written, and frozen', () => {
  const filter = {
    'properties.accountId': 'acme',
    'properties.a\\.b': { exists: true, prefix: 'x', suffix: 'y' },
    'properties.total': { gte: 100, lt: 1_000.5, gt: -1, lte: 5 },
    'properties.coupon': null,
    'properties.tags': { contains: false },
    'context.library.name': { in: ['analytics-ios', 7, null, true] },
    userId: { in: ['u1'] },
    type: { in: ['track', 'page'] },
    any: [{ type: 'identify' }, { not: { event: { suffix: 'ed' } } }],
    not: { 'context.ip': { prefix: '10.' } },
  };
  const parsed = parseResource({ ...destination, filter });
  assert.ok('resource' in parsed && parsed.resource.kind === 'Destination');
  assert.deepEqual(parsed.resource.filter, filter);
  assert.ok(Object.isFrozen(parsed.resource.filter['context.library.name']));
});

test('a filter that is not one is refused', () => {
  for (const filter of [null, 'acme', 7, [], ['x']])
    assert.match(problemAt('', filter), /^must be a mapping of paths, such as properties\.acc/);
  assert.match(problemAt('', {}), /^must not be empty; without this field/);
  assert.match(problemAt('.not', { not: {} }), /^must not be empty/);
  assert.match(problemAt('.not', { not: 5 }), /^must be a mapping/);
  for (const any of [[], {}, { type: 'track' }, 'x'])
    assert.match(problemAt('.any', { any }), /^must be a list of filters, of which one must pass$/);
  assert.match(problemAt('.any[1]', { any: [{ type: 'track' }, 'x'] }), /^must be a mapping/);
});

test('an unknown operator is refused with the near one', () => {
  assert.match(
    problemAt('.event.prefx', { event: { prefx: 'Order' } }),
    /^is not an operator; did you mean prefix\? Allowed: in, exists, prefix, suffix, contains, gt, gte, lt, lte$/,
  );
  assert.match(problemAt('.event', { event: {} }), /^must have an operator: in, exists, /);
});

test('a field that is written under its object is told with its path', () => {
  assert.match(
    problemAt('.properties.accountId', { properties: { accountId: 'acme' } }),
    /^is not an operator; allowed: .*; a field inside properties is written properties\.accountId$/,
  );
});

test('a path that no call has is refused', () => {
  for (const [path, reason] of [
    ['writeKey', /^cannot be chosen by: sources says whose calls/],
    ['userId.name', /^is on no call, because userId is text$/],
    ['propertys.accountId', /^is on no call; did you mean properties\.accountId\?$/],
    ['user_id', /^is on no call; did you mean userId\?$/],
    ['properties..x', /^has an empty key/],
    ['properties.x\\y', /^has a backslash before/],
  ] as const)
    assert.match(problemAt(`.${path}`, { [path]: 'x' }), reason);
  assert.deepEqual(issuesOf({ tenant: 'acme', 'options.x': 1 }), []);
});

test('a value that a call never has at its path is refused', () => {
  assert.match(
    problemAt('.userId', { userId: 123 }),
    /text on every call; put the value in quotes/,
  );
  assert.match(
    problemAt('.userId', { userId: null }),
    /a call without it has \{ exists: false \}$/,
  );
  assert.match(
    problemAt('.type', { type: 'trak' }),
    /^must be one of track, page, screen, identify, group, alias; did you mean track\?$/,
  );
  assert.match(problemAt('.type.in[1]', { type: { in: ['page', 'x'] } }), /^must be one of track/);
  assert.match(problemAt('.timestamp.gte', { timestamp: { gte: 5 } }), /^compares numbers, and /);
  assert.match(
    problemAt('.event.contains', { event: { contains: 'x' } }),
    /^looks into lists, and/,
  );
});

test('what an operator cannot take is refused', () => {
  const at = 'properties.x';
  for (const [operator, argument, reason] of [
    ['in', 'acme', /^must be a list of 1 to 1,000 values$/],
    ['in', [], /^must be a list of 1 to 1,000 values$/],
    ['in', Array.from({ length: 1_001 }, String), /^must be a list of 1 to 1,000 values$/],
    ['exists', 'yes', /^must be true or false$/],
    ['prefix', 10, /^must be text, not empty, in quotes if/],
    ['suffix', '', /^must be text, not empty/],
    ['contains', ['vip'], /^must be text, a number, true, false or null$/],
    ['gt', '100', /^must be a number$/],
    ['gte', NaN, /^must be a number$/],
    ['lt', Infinity, /^must be a number$/],
    ['lte', null, /^must be a number$/],
  ] as const)
    assert.match(problemAt(`.${at}.${operator}`, { [at]: { [operator]: argument } }), reason);
  assert.match(problemAt(`.${at}`, { [at]: ['a', 'b'] }), /one of several is \{ in: \[…\] \}$/);
  assert.match(problemAt(`.${at}.in[1]`, { [at]: { in: [1, {}] } }), /^must be text, a number/);
  assert.match(problemAt(`.${at}`, { [at]: 2 ** 53 }), /^is too large to be compared exactly/);
  assert.match(problemAt(`.${at}`, { [at]: -Infinity }), /^must be a number$/);
});

test('a filter has at most 100 conditions, and filters are at most five deep', () => {
  const conditions = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`properties.p${i}`, i]));
  const nested = (depth: number): object =>
    depth === 1 ? { type: 'track' } : { not: nested(depth - 1) };
  assert.deepEqual(issuesOf(conditions(100)), []);
  assert.match(problemAt('.properties.p100', conditions(100_000)), /^is one too many: .* 100 cond/);
  const any = Array.from({ length: 60 }, () => ({ 'properties.x': { gt: 1, lt: 5 } }));
  assert.match(problemAt('.any[50].properties.x.gt', { any }), /^is one too many/);
  assert.deepEqual(issuesOf(nested(5)), []);
  assert.match(problemAt('.not'.repeat(5), nested(6)), /^must not be deeper than 5 filters/);
  assert.match(problemAt('.not'.repeat(5), nested(2_000)), /^must not be deeper/);
});
