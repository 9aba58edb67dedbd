import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusKey } from '../../src/event/destination-status.ts';
import { Words } from '../../src/notices/words.ts';

const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 0, 31);

function sayDelivered(words: Words, destination: string, atMs: number): void {
  const at = new Date(atMs).toISOString();
  const lastAnswer = { at, outcome: 'delivered' };
  const status = {
    kind: 'destination',
    worker: 'w',
    at,
    destination,
    state: 'ok',
    urls: [{ lastAnswer }],
  };
  words.put(statusKey('w', destination), Buffer.from(JSON.stringify(status)));
}

test('a time of delivery is known for as long as an episode could end with it, and forgotten then', () => {
  const words = new Words();
  sayDelivered(words, 'former', startMs);
  words.failing(startMs + 25 * hourMs);
  assert.equal(words.deliveredMs('former'), startMs);
  sayDelivered(words, 'crm', startMs + 40 * hourMs);
  words.failing(startMs + 49 * hourMs);
  assert.equal(words.deliveredMs('former'), undefined);
  assert.equal(words.deliveredMs('crm'), startMs + 40 * hourMs);
});
