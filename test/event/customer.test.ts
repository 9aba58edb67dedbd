import assert from 'node:assert/strict';
import { test } from 'node:test';
import { customerLimitProblem, customerProblem } from '../../src/event/customer.ts';

test('the id of a customer is any printable text of up to 128 characters', () => {
  for (const taken of ['a', 'Acme Ltd.', '客户/7', '🦊'.repeat(128), 'x'.repeat(128), '../etc'])
    assert.equal(customerProblem(taken), undefined, taken);
  for (const refused of [
    '',
    ' ',
    ' acme',
    'acme ',
    'ac\nme',
    'ac\u0000me',
    'acme\u202e',
    'ac\u200bme',
    'ac\u2028me',
    'ac\ud800me',
    'x'.repeat(129),
    '🦊'.repeat(129),
    'x'.repeat(10_000_000),
  ])
    assert.match(customerProblem(refused) ?? '', /^must be 1 to 128 printable characters/);
});

test('a customer has as many destinations as the limit says', () => {
  assert.equal(customerLimitProblem(0, 1), undefined);
  assert.equal(customerLimitProblem(19, 20), undefined);
  assert.match(customerLimitProblem(1, 1) ?? '', /^the customer has 1 destination, and API_MAX/);
  assert.match(customerLimitProblem(30, 20) ?? '', /has 30 destinations, .* is 20/);
});
