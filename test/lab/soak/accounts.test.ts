import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Accounts } from './accounts.ts';

function scene(): Accounts {
  const accounts = new Accounts('p1', ['one', 'two']);
  accounts.sent('p1-1', 'u1', 10);
  accounts.sent('p1-2', 'u2', 20);
  accounts.sent('p1-3', 'u3', 30, ['two']);
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
    accounts.unexpectedLetters((destinationId, id) => destinationId === 'two' && id === 'p1-3'),
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

test('an event overtakes another one of its user that was accepted before its call was sent', () => {
  const accounts = scene();
  accounts.sent('p1-4', 'u1', 90);
  accounts.sent('p1-5', 'u1', 110);
  accounts.accepted(['p1-4', 'p1-5'], 120);
  for (const id of ['one', 'two']) accounts.delivered(id, 'p1-4', 130);
  accounts.delivered('two', 'p1-5', 140);
  for (const id of ['one', 'two']) accounts.delivered(id, 'p1-1', 150);
  accounts.delivered('one', 'p1-5', 160);
  assert.deepEqual(accounts.overtakersAt('one'), []);
  assert.deepEqual(accounts.overtakersAt('two'), ['p1-5 before p1-1']);
});
