import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptLine } from '../../src/event/attempt-line.ts';
import { againLineOf, endAgain, type AgainLine } from '../../src/event/sent-again.ts';

const [first, second] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'];
const line = (says: string, redrivenAt: string = first): AgainLine => ({ says, redrivenAt });

test('an event that was sent again has ended as its last lines say, unless it was delivered before', () => {
  assert.equal(endAgain([line('failed'), line('retry'), line('delivered')], ''), 'delivered');
  assert.equal(endAgain([line('refused'), line('dead-letter')], ''), 'dead-letter');
  assert.equal(endAgain([line('failed'), line('retry')], ''), 'waiting');
  assert.equal(endAgain([line('dropped')], ''), 'dropped');
  assert.equal(endAgain([line('delivered'), line('dead-letter', second)], ''), 'delivered');
  assert.equal(endAgain([line('retry', second), line('dead-letter')], ''), 'waiting');
});

test('lines from before the event became this letter say nothing about it', () => {
  assert.equal(endAgain([line('delivered')], first), 'unknown');
  assert.equal(endAgain([line('dead-letter'), line('delivered', second)], first), 'delivered');
  assert.equal(endAgain([], ''), 'unknown');
});

test('only lines of events that were sent again count', () => {
  const attempt = { kind: 'attempt', outcome: 'failed' } as AttemptLine;
  assert.equal(againLineOf(attempt), undefined);
  assert.deepEqual(againLineOf({ ...attempt, redrivenAt: first } as AttemptLine), line('failed'));
  const kept = { kind: 'kept', redrivenAt: first } as AttemptLine;
  assert.deepEqual(againLineOf(kept), line('kept'));
});
