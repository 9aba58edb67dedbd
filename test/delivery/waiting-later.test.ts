import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newClaim } from '../../src/delivery/job.ts';
import { WaitingByDestination } from '../../src/delivery/status/waiting-later.ts';

const tiersMs: Readonly<Record<string, number>> = { 'retry.10s': 10_000, 'retry.1h': 3_600_000 };
const claim = (topic: string, partition = 0): ReturnType<typeof newClaim> =>
  newClaim({ topic, partition }, false);
const empty = { events: 0, byTierMs: new Map(), oldestMs: undefined, deadlineMs: undefined };

function made(): WaitingByDestination {
  return new WaitingByDestination((topic) => tiersMs[topic] ?? 0);
}

test('what waits is counted by tier, with the oldest and the deadline that ends first', () => {
  const waiting = made();
  const [short, long] = [claim('retry.10s'), claim('retry.1h')];
  const crm = { destinationId: 'crm', events: 1, oldestMs: 500, deadlineMs: 9_000 };
  waiting.held(short, crm, 10_000);
  waiting.held(long, { destinationId: 'crm', events: 256, oldestMs: 300 }, 3_600_000);
  waiting.held(long, { ...crm, destinationId: 'ads', oldestMs: 1 }, 3_600_000);
  assert.deepEqual(waiting.of({ id: 'crm' }), {
    events: 257,
    byTierMs: new Map([
      [10_000, { events: 1, dueFromMs: 10_000, dueUntilMs: 11_250 }],
      [3_600_000, { events: 256, dueFromMs: 3_600_000, dueUntilMs: 4_050_000 }],
    ]),
    oldestMs: 300,
    deadlineMs: 9_000,
  });
  assert.deepEqual([...waiting.destinations()], ['crm', 'ads']);
});

test('when the first and the last in a tier are due is known to an eighth of its delay, over all partitions', () => {
  const waiting = made();
  const crm = { destinationId: 'crm', events: 1, oldestMs: 0 };
  waiting.held(claim('retry.10s', 0), crm, 7_300);
  waiting.held(claim('retry.10s', 1), crm, 12_499);
  const last = claim('retry.10s', 2);
  waiting.held(last, crm, 30_000);
  const due = (): unknown => {
    const { dueFromMs, dueUntilMs } = waiting.of({ id: 'crm' }).byTierMs.get(10_000) ?? {};
    return [dueFromMs, dueUntilMs];
  };
  assert.deepEqual(due(), [6_250, 31_250]);
  waiting.left(last, crm, 30_000);
  assert.deepEqual(due(), [6_250, 12_500]);
});

test('what has left does not count any more, and with the last of a time its age is forgotten', () => {
  const waiting = made();
  const tier = claim('retry.1h');
  const first = { destinationId: 'crm', events: 2, oldestMs: 100, deadlineMs: 200 };
  const later = { destinationId: 'crm', events: 3, oldestMs: 400 };
  waiting.held(tier, first, 3_600_000);
  waiting.held(tier, later, 7_000_000);
  waiting.left(tier, first, 3_600_000);
  const { events, oldestMs, deadlineMs } = waiting.of({ id: 'crm' });
  assert.deepEqual([events, oldestMs, deadlineMs], [3, 400, undefined]);
  waiting.left(tier, later, 7_000_000);
  assert.deepEqual(waiting.of({ id: 'crm' }), empty);
  assert.deepEqual([...waiting.destinations()], []);
});

test('what is of a partition that goes to another worker does not count', () => {
  const waiting = made();
  const [gone, kept] = [claim('retry.1h', 0), claim('retry.1h', 1)];
  const crm = { destinationId: 'crm', events: 1, oldestMs: 100 };
  waiting.held(gone, crm, 5_000);
  waiting.held(kept, { ...crm, events: 7, oldestMs: 200 }, 5_000);
  waiting.held(gone, { ...crm, destinationId: 'ads' }, 5_000);
  waiting.released(gone);
  assert.equal(waiting.eventsOf({ id: 'crm' }), 7);
  assert.equal(waiting.of({ id: 'crm' }).oldestMs, 200);
  assert.deepEqual([...waiting.destinations()], ['crm']);
});
