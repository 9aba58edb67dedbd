import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSettled, outcomeOf, runsOf } from '../../src/console/actions/run-list.ts';
import type { Redrive } from '../../src/console/api/answers/actions.ts';
import { decodeAuditEntry, type AuditEntry } from '../../src/event/audit-entry.ts';

const at = '2026-01-31T12:00:00.000Z';
const later = '2026-01-31T12:05:00.000Z';
const who = { user: 'ines', action: 'redrive' } as const;
const begun: AuditEntry = {
  id: 'a',
  at,
  ...who,
  destination: 'crm',
  detail: 'since x',
  isRun: true,
};
const row = { id: 'a', at, ...who, destinations: ['crm'], chosen: 'since x' };
const none = { delivered: 0, refused: 0, dropped: 0, waiting: 0 };
const nowhere = (): undefined => undefined;

test('a run is its beginning and its end, by whichever process', () => {
  const became = { delivered: 3, refused: 0, waiting: 1, other: 0 };
  const ended: AuditEntry = { id: 'b', at: later, ...who, began: 'a', sent: 4, became };
  const other: AuditEntry = { id: 'c', at, user: 'tom', action: 'pause', destination: 'crm' };
  assert.deepEqual(runsOf([ended, other, begun], nowhere), [
    { ...row, state: 'done', endedAt: later, sent: 4, outcome: became },
  ]);
});

test('a run that failed says why', () => {
  const detail = 'stopped early';
  const ended: AuditEntry = { id: 'b', at: later, ...who, began: 'a', outcome: 'failed', detail };
  assert.deepEqual(runsOf([ended, begun], nowhere), [
    { ...row, state: 'failed', endedAt: later, detail },
  ]);
});

test('a run without an end runs here, or it is not known whether it runs at all', () => {
  const here: Redrive = { id: 'a', state: 'running', found: 7, sent: 7 };
  const find = (id: string): Redrive | undefined => (id === 'a' ? here : undefined);
  assert.deepEqual(runsOf([begun], find), [{ ...row, state: 'running', sent: 7 }]);
  assert.deepEqual(runsOf([begun], nowhere), [{ ...row, state: 'unfinished' }]);
});

test('entries of earlier versions, whose ends are tied to nothing, are no runs', () => {
  const earlier: AuditEntry = { id: 'a', at, ...who, destination: 'crm', detail: 'since x' };
  const ended: AuditEntry = { id: 'b', at: later, ...who, detail: 'ended: 4 events sent' };
  assert.deepEqual(runsOf([ended, earlier], nowhere), []);
});

test('an entry of another version, in which the fields of a run mean something else, is left out', () => {
  const decoded = (more: object): unknown =>
    decodeAuditEntry(Buffer.from(JSON.stringify({ ...begun, ...more })));
  assert.deepEqual(decoded({ later: 1 }), { ...begun, later: 1 });
  for (const odd of [
    { sent: 'x' },
    { destinations: 'crm' },
    { customer: 7 },
    { began: 7 },
    { became: {} },
    { became: null },
  ])
    assert.equal(decoded(odd), undefined, JSON.stringify(odd));
});

const outcomes = [
  ['nothing is known yet', none, undefined, [0, 0, 0, 10]],
  [
    'attempts go on where the run stopped looking',
    { ...none, delivered: 9, waiting: 1 },
    [0, 0, 0, 10],
    [9, 0, 1, 0],
  ],
  ['an event that waited is delivered', { ...none, delivered: 10 }, [7, 0, 3, 0], [10, 0, 0, 0]],
  ['no lines are written of deliveries', { ...none, refused: 1 }, [9, 1, 0, 0], [9, 1, 0, 0]],
  ['attempts are not kept at all', none, [8, 0, 2, 0], [8, 0, 2, 0]],
  ['two workers delivered one', { ...none, delivered: 11, waiting: 2 }, undefined, [10, 0, 0, 0]],
] as const;

for (const [title, seen, before, after] of outcomes)
  test(`what became of ten events: ${title}`, () => {
    const outcome = (of: readonly [number, number, number, number]) => {
      const [delivered, refused, waiting, other] = of;
      return { delivered, refused, waiting, other };
    };
    const told = before === undefined ? undefined : outcome(before);
    assert.deepEqual(outcomeOf(10, seen, told), outcome(after));
  });

test('events of users who were deleted meanwhile are not waited for', () => {
  const outcome = outcomeOf(2, { ...none, delivered: 1, dropped: 1 }, undefined);
  assert.deepEqual(outcome, { delivered: 1, refused: 0, waiting: 0, other: 0, dropped: 1 });
  assert.equal(isSettled({ ...row, state: 'done', sent: 2, outcome }), true);
});

test('a run is looked after until the last of its events has ended', () => {
  const outcome = { delivered: 1, refused: 0, waiting: 0, other: 1 };
  assert.equal(isSettled({ ...row, state: 'done', sent: 2, outcome }), false);
  assert.equal(isSettled({ ...row, state: 'done', sent: 2 }), false);
  assert.equal(isSettled({ ...row, state: 'failed', sent: 0 }), true);
  assert.equal(isSettled({ ...row, state: 'unfinished' }), false);
});
