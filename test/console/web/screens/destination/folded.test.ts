import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptRow } from '../../../../../src/console/api/answers/destinations.ts';
import { folded } from '../../../../../src/console/web/screens/destination/folded.ts';
import { attemptLine } from '../../../records.ts';

const deferred = (seq: string, cause: string): AttemptRow =>
  ({ ...attemptLine(seq), kind: 'deferred', cause, seq }) as unknown as AttemptRow;
const attempt = (seq: string): AttemptRow => ({ ...attemptLine(seq), seq });

test('lines that were put off one after the other for the same reason are one row', () => {
  const bundle: AttemptRow = {
    kind: 'bundle-deferred',
    at: '2026-01-31T12:00:00.000Z',
    destination: 'crm',
    events: 40,
    cause: 'breaker-open',
    until: '2026-01-31T12:01:00.000Z',
    seq: '6',
  };
  const lines = [
    attempt('9'),
    attempt('8'),
    deferred('7', 'breaker-open'),
    bundle,
    deferred('5', 'breaker-open'),
    deferred('4', 'slow'),
    attempt('3'),
    deferred('2', 'slow'),
  ];
  const rows = folded(lines).map(({ line, lines: of, key }) => [line.seq, of, key]);
  assert.deepEqual(rows, [
    ['9', 1, '9'],
    ['8', 1, '8'],
    ['7', 3, '5'],
    ['4', 1, '4'],
    ['3', 1, '3'],
    ['2', 1, '2'],
  ]);
});
