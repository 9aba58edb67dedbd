import assert from 'node:assert/strict';
import { test } from 'node:test';
import { balances, createLedger, type Ledger } from '../../src/dev/ledger.ts';

function ledgerOf(...ids: string[]): Ledger {
  const ledger = createLedger(['crm']);
  for (const id of ids) ledger.produced(id, 'someone');
  return ledger;
}

test('an event that was neither delivered nor given up does not balance', () => {
  const ledger = ledgerOf('a', 'b');
  ledger.arrived('crm', [{ id: 'a', answered: 200 }], true);
  ledger.arrived('crm', [{ id: 'b', answered: 500 }], true);
  assert.equal(ledger.accounts()[0]?.missing, 1);
  assert.equal(balances(ledger.accounts()), false);
  ledger.deadLettered('crm', 'b', 'expired');
  assert.deepEqual(ledger.accounts()[0]?.deadLetters, { expired: 1 });
  assert.equal(balances(ledger.accounts()), true);
});

test('a wrong signature does not balance even if everything arrived', () => {
  const ledger = ledgerOf('a');
  ledger.arrived('crm', [{ id: 'a', answered: 204 }], false);
  assert.equal(balances(ledger.accounts()), false);
});

test('an event whose answer came too late is delivered and given up, and balances', () => {
  const ledger = ledgerOf('a');
  ledger.arrived('crm', [{ id: 'a', answered: 200 }], true);
  ledger.deadLettered('crm', 'a', 'expired');
  assert.equal(balances(ledger.accounts()), true);
});

test('a request with many events counts once, and each of them by its own answer', () => {
  const ledger = ledgerOf('a', 'b', 'c');
  const answers = { a: 200, b: 422, c: 503 };
  const events = Object.entries(answers).map(([id, answered]) => ({ id, answered }));
  ledger.arrived('crm', events, true);
  ledger.deadLettered('crm', 'b', 'http-422');
  const [account] = ledger.accounts();
  assert.deepEqual([account?.requests, account?.delivered, account?.missing], [1, 1, 1]);
  ledger.arrived('crm', [{ id: 'c', answered: 200 }], true);
  const [after] = ledger.accounts();
  assert.deepEqual([after?.requests, after?.delivered, after?.extraArrivals], [2, 2, 2]);
  assert.equal(balances(ledger.accounts()), true);
});

test('repeats and failed requests are counted as extra, not as deliveries', () => {
  const ledger = ledgerOf('a');
  for (const status of [500, 200, 200])
    ledger.arrived('crm', [{ id: 'a', answered: status }], true);
  const [account] = ledger.accounts();
  assert.equal(account?.delivered, 1);
  assert.equal(account.extraArrivals, 2);
});

test('an arrival after a later event of the same user is out of order, a repeat is not', () => {
  const ledger = ledgerOf('a', 'b', 'c');
  for (const id of ['a', 'c', 'b', 'a']) ledger.arrived('crm', [{ id, answered: 200 }], true);
  assert.equal(ledger.accounts()[0]?.outOfOrder, 1);
  assert.equal(balances(ledger.accounts()), true);
});
