import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webhooksEnabled } from '../../src/event/integrations.ts';
import { callOf } from './some-calls.ts';

function enabled(fields: object | string): boolean {
  const rest = typeof fields === 'string' ? fields : JSON.stringify(fields).slice(1);
  return webhooksEnabled(callOf(`{"type":"identify","userId":"u",${rest}`));
}

const rules: readonly (readonly [string, boolean])[] = [
  ['{}', true],
  ['{"All":true}', true],
  ['{"All":false}', false],
  ['{"all":false}', false],
  ['{"ALL":false}', false],
  ['{"All":false,"Webhooks":true}', true],
  ['{"Webhooks":true,"all":false}', true],
  ['{"All":false,"webhooks":true}', false],
  ['{"All":false,"Webhooks":{"option":1}}', true],
  ['{"All":false,"Webhooks":null}', false],
  ['{"All":false,"Webhooks":"true"}', false],
  ['{"All":true,"Webhooks":false}', false],
  ['{"Webhooks":false}', false],
  ['{"webhooks":false}', true],
  ['{"Webhooks":"false"}', true],
  ['{"Webhooks":0}', true],
  ['{"Webhooks":null}', true],
  ['{"All":"false"}', true],
  ['{"All":0}', true],
  ['{"All":null}', true],
  ['{"All":true,"all":false}', false],
  ['{"Mixpanel":false,"Ads":false}', true],
  ['{"constructor":false,"hasOwnProperty":false,"toString":false}', true],
  ['{"__proto__":{"Webhooks":false,"All":false}}', true],
  ['{"All":false,"__proto__":{"Webhooks":true}}', false],
];

for (const [integrations, expected] of rules) {
  test(`integrations ${integrations} ${expected ? 'let' : 'do not let'} a call through`, () => {
    assert.equal(enabled(`"integrations":${integrations}}`), expected);
    assert.equal(enabled(`"context":{"integrations":${integrations}}}`), expected);
  });
}

test('a call without rules goes through', () => {
  for (const fields of [{ a: 1 }, { context: null }, { context: 'x' }, { context: {} }]) {
    assert.equal(enabled(fields), true);
  }
});

test('rules on the call hide those of the context, even when they are empty', () => {
  const context = { integrations: { All: false } };
  assert.equal(enabled({ integrations: {}, context }), true);
  assert.equal(enabled({ integrations: { All: false }, context: { integrations: {} } }), false);
});

test('integrations that are no object count as absent', () => {
  const context = { integrations: { All: false } };
  for (const integrations of [null, false, 'All', 0]) {
    assert.equal(enabled({ integrations, context }), false);
    assert.equal(enabled({ integrations, context: { integrations: null } }), true);
  }
});

test('names in the context itself are no rules', () => {
  assert.equal(
    enabled({ context: { Webhooks: false, All: false, providers: { all: false } } }),
    true,
  );
});
