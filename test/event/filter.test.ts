import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  compileFilter,
  firstUnmet,
  lookupsOf,
  passes,
  tellUnmet,
  type Filter,
} from '../../src/event/filter.ts';
import { callOf } from './some-calls.ts';

const order = {
  type: 'track',
  event: 'Order Completed',
  userId: 'u1',
  properties: { accountId: 'acme', total: 150, tags: ['vip', 7], coupon: null, 'a.b': true },
  context: { ip: '10.1.2.3', library: { name: 'analytics-ios' } },
};

function isWanted(filter: Filter, call: object | string = order): boolean {
  const compiled = compileFilter(filter);
  const passed = passes(compiled, callOf(call));
  assert.equal(firstUnmet(compiled, callOf(call)) === undefined, passed);
  return passed;
}

/** @param none of them passes the call */
function checkEach(all: readonly Filter[], none: readonly Filter[]): void {
  for (const filter of all) assert.ok(isWanted(filter), JSON.stringify(filter));
  for (const filter of none) assert.ok(!isWanted(filter), JSON.stringify(filter));
}

describe('a filter', () => {
  it('passes calls for which all of its conditions hold', () => {
    const filter: Filter = {
      'properties.accountId': 'acme',
      'properties.total': { gte: 100, lt: 1_000 },
      event: { prefix: 'Order ' },
      'context.library.name': { in: ['analytics-ios', 'analytics-android'] },
      'properties.tags': { contains: 'vip' },
      any: [{ type: 'identify' }, { type: 'track' }],
      not: { 'context.ip': { prefix: '192.168.' } },
    };
    assert.ok(isWanted(filter));
    const others: readonly Filter[] = [
      { 'properties.accountId': 'zeta' },
      { 'properties.total': { gte: 100, lt: 150 } },
      { event: { prefix: 'order ' } },
      { 'context.library.name': { in: ['analytics'] } },
      { 'properties.tags': { contains: 'VIP' } },
      { any: [{ type: 'identify' }, { type: 'page' }] },
      { not: { 'context.ip': { prefix: '10.' } } },
    ];
    for (const other of others) {
      assert.ok(!isWanted({ ...filter, ...other }), JSON.stringify(other));
      assert.deepEqual(
        firstUnmet(compileFilter({ ...filter, ...other }), callOf(order))?.condition,
        other,
      );
    }
  });

  it('compares values with their type', () => {
    checkEach(
      [
        { 'properties.coupon': null },
        { 'properties.a\\.b': true },
        { 'properties.total': 150 },
        { 'properties.tags': { contains: 7 } },
        { 'properties.total': { gt: 149.9, lte: 150 } },
        { event: { suffix: 'Completed' } },
      ],
      [
        { 'properties.total': '150' },
        { 'properties.tags': { contains: '7' } },
        { 'properties.accountId': { gte: 0 } },
        { 'properties.total': { prefix: '1' } },
        { 'properties.tags': 'vip' },
        { 'properties.accountId': { contains: 'acme' } },
        { 'properties.a\\.b': 1 },
        { 'properties.total': { gt: 150 } },
        { 'properties.total': { lt: 150 } },
      ],
    );
  });

  it('finds nothing at a path that is not there, also no null', () => {
    checkEach(
      [
        { 'properties.none': { exists: false } },
        { 'properties.coupon': { exists: true } },
        { not: { 'properties.none': null } },
        { userId: { exists: true }, anonymousId: { exists: false } },
      ],
      [
        { 'properties.none': null },
        { 'properties.none': { in: [null] } },
        { 'properties.none': { lt: 5 } },
        { 'properties.none': { contains: null } },
        { 'properties.accountId.length': 4 },
        { 'properties.tags.0': 'vip' },
      ],
    );
  });

  it('is not deceived by keys that objects inherit, or by own keys of these names', () => {
    const hostile =
      '{"type":"track","event":"x","userId":"u","__proto__":{"properties":{"plan":"pro"}},' +
      '"properties":{"__proto__":{"accountId":"acme"},"constructor":{"name":"Object"}}}';
    for (const filter of [
      { 'properties.accountId': 'acme' },
      { 'properties.plan': 'pro' },
      { 'properties.toString': { exists: true } },
      { 'properties.hasOwnProperty.name': 'hasOwnProperty' },
    ])
      assert.ok(!isWanted(filter, hostile), JSON.stringify(filter));
    assert.ok(isWanted({ 'properties.__proto__.accountId': 'acme' }, hostile));
  });

  it('sees the resolved ids and time of a call', () => {
    const call = { type: 'page', anonymousId: 7 };
    assert.ok(isWanted({ anonymousId: '7', messageId: { prefix: 'postrider.ingest:3:' } }, call));
    assert.ok(isWanted({ timestamp: { prefix: '2026-11-20T18:59:40' } }, call));
  });
});

describe('the first condition that does not hold', () => {
  const unmet = (filter: Filter): string => {
    const found = firstUnmet(compileFilter(filter), callOf(order));
    return found === undefined ? 'none' : tellUnmet(found);
  };

  it('is told with the value that it met', () => {
    assert.equal(
      unmet({ type: 'track', 'properties.total': { gte: 500 }, 'properties.none': 1 }),
      'its filter wants properties.total: {"gte":500}; properties.total is 150',
    );
    assert.equal(
      unmet({ 'properties.none': 'x' }),
      'its filter wants properties.none: "x"; properties.none is missing',
    );
  });

  it('is told with all its values where it is made of filters', () => {
    const any = [{ type: 'page' }, { 'properties.none': 1, 'properties.accountId': 'zeta' }];
    assert.deepEqual(firstUnmet(compileFilter({ any }), callOf(order)), {
      condition: { any },
      values: { type: 'track', 'properties.accountId': 'acme' },
    });
    assert.match(
      unmet({ not: { type: 'track' } }),
      /^its filter wants not: {"type":"track"}; type is "track"$/,
    );
  });

  it('is told in few characters, however large call and filter are', () => {
    const value = 'x'.repeat(10_000);
    const call = callOf({ ...order, properties: { accountId: value } });
    const found = firstUnmet(compileFilter({ 'properties.accountId': { in: [value, 1] } }), call);
    assert.equal(found, undefined);
    const other = firstUnmet(compileFilter({ 'properties.accountId': `${value}y` }), call);
    assert.ok(other !== undefined && tellUnmet(other).length <= 600);
  });
});

describe('the look-ups of a filter', () => {
  it('are those on which every call that passes depends', () => {
    const filter: Filter = {
      'properties.accountId': 'acme',
      'properties.region': { in: ['eu', 'us', 'eu'], exists: true },
      'properties.total': { gte: 5 },
      any: [{ userId: 'u1' }],
      not: { userId: 'u2' },
    };
    const found = lookupsOf(filter).map(({ text, values }) => [text, ...values]);
    assert.deepEqual(found, [
      ['properties.accountId', 'acme'],
      ['properties.region', 'eu', 'us'],
    ]);
  });
});
