import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Accounts } from './accounts.ts';

function scene(): Accounts {
  const accounts = new Accounts('p1', ['one', 'two']);
  accounts.sent('p1-1', 'u1');
  accounts.sent('p1-2', 'u2');
  accounts.sent('p1-3', 'u3', ['two']);
  accounts.accepted(['p1-1', 'p1-3'], 100);
  return accounts;
}

test('an accepted call is missing at each of its destinations until it is delivered or given up', () => {
  const accounts = scene();
  const missing = (): string[] =>
    accounts.missing().map(({ destinationId, id }) => `${destinationId} ${id}`);
  assert.deepEqual(missing(), ['one p1-1', 'two p1-1', 'two p1-3']);
  accounts.delivered('two', 'p1-1', 150);
  accounts.givenUp('two', 'p1-3', 'http-400');
  assert.deepEqual(missing(), ['one p1-1']);
  accounts.delivered('one', 'p1-1', 180);
  assert.deepEqual([missing(), accounts.calls, accounts.letters], [[], 2, 1]);
});

test('what was given up for another reason than the expected one is named', () => {
  const accounts = scene();
  accounts.givenUp('two', 'p1-3', 'http-400');
  accounts.givenUp('one', 'p1-1', 'expired');
  assert.deepEqual(
    accounts.unexpectedLetters((destinationId) => destinationId === 'two'),
    ['one p1-1: expired'],
  );
});

test('repeats, stalls and waits are those of the endpoints that are asked for', () => {
  const accounts = scene();
  accounts.delivered('one', 'p1-1', 150);
  accounts.delivered('two', 'p1-1', 400);
  accounts.delivered('two', 'p1-1', 450);
  accounts.delivered('two', 'p1-2', 460);
  accounts.delivered('two', 'p1-3', 500);
  const wait = (ids: readonly string[], fromMs: number): string => {
    const { id, waitMs } = accounts.longestWait(ids, fromMs);
    return `${id} ${waitMs}`;
  };
  assert.deepEqual([accounts.repeatsAt(['one'], 0), accounts.repeatsAt(['one', 'two'], 0)], [0, 1]);
  assert.deepEqual([wait(['one'], 0), wait(['two'], 0)], ['p1-1 50', 'p1-3 400']);
  assert.deepEqual(
    [accounts.longestStallMs(['one'], 0), accounts.longestStallMs(['two'], 0)],
    [50, 300],
  );
  assert.equal(accounts.longestStallMs(['one', 'two'], 0), 250);
  assert.equal(wait(['one', 'two'], 101), ' 0');
});
