import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDeadLetter, type DeadLetter } from '../../src/dead-letter/dead-letter.ts';
import { LetterSummary } from '../../src/dead-letter/summary.ts';

function letter(time: string, destination: string, reason: string): DeadLetter {
  return readDeadLetter({
    topic: 'p.dead-letter',
    partition: 0,
    offset: 0,
    timestampMs: Date.parse(time),
    key: Buffer.from(`${destination}:u1`),
    value: null,
    headers: { reason: Buffer.from(reason) },
  });
}

test('the latest day comes first, and of a day what is most', () => {
  const summary = new LetterSummary();
  summary.add(letter('2026-11-23T23:59:59.999Z', 'crm', 'expired'), true);
  summary.add(letter('2026-11-24T00:00:00.000Z', 'crm', 'http-410'), false);
  for (const isSentAgain of [true, false])
    summary.add(letter('2026-11-24T12:00:00.000Z', 'search', 'expired'), isSentAgain);
  assert.deepEqual(summary.present().split('\n'), [
    'DAY         DESTINATION  REASON    EVENTS  SENT AGAIN',
    '2026-11-24  search       expired   2       1',
    '2026-11-24  crm          http-410  1       0',
    '2026-11-23  crm          expired   1       1',
  ]);
});
