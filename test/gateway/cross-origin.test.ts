import assert from 'node:assert/strict';
import { test } from 'node:test';
import { originMatcher } from '../../src/gateway/cross-origin.ts';

test('an origin with a star allows every name below it, and nothing else', () => {
  const isAllowed = originMatcher(['https://*.shop.example:8443', 'https://pay.example']);
  for (const [origin, expected] of [
    ['https://www.shop.example:8443', true],
    ['https://a.b.shop.example:8443', true],
    ['https://pay.example', true],
    ['https://www.pay.example', false],
    ['https://shop.example:8443', false],
    ['https://evilshop.example:8443', false],
    ['http://www.shop.example:8443', false],
    ['https://www.shop.example', false],
    ['null', false],
    [undefined, false],
  ] as const)
    assert.equal(isAllowed(origin), expected, origin);
  assert.equal(originMatcher(['*'])('null'), true);
});
