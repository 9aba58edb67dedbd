import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { rowOfLine } from '../../src/console/index/attempt-rows.ts';
import { openIndexDatabase } from '../../src/console/index/database.ts';
import { append, attemptsTable } from '../../src/console/index/schema.ts';
import { whatBecame } from '../../src/console/index/sent-again.ts';
import { Words } from '../../src/console/index/words.ts';
import { ConsoleMetrics } from '../../src/console/metrics.ts';
import type { AttemptLine } from '../../src/event/attempt-line.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { attemptLine } from './records.ts';

const fromMs = Date.parse('2026-01-31T12:00:00.000Z');
const span = { destinations: ['crm'], fromMs, untilMs: fromMs + 60_000 };
const time = (afterMs: number): string => new Date(fromMs + afterMs).toISOString();

const redrivenAt = time(5_000);
const again = { at: time(6_000), redrivenAt };
const event = { source: 'shop', user: 'ada', type: 'track', destination: 'crm' } as const;
const failed = { ...again, outcome: 'failed', cause: 'timeout' } as const;

const lines: readonly AttemptLine[] = [
  // In whatever order they come.
  attemptLine('delivered', again),
  attemptLine('delivered', failed),
  attemptLine('waiting', failed),
  { kind: 'retry', ...event, ...again, messageId: 'waiting', attempts: 1 },
  attemptLine('refused', { ...again, outcome: 'refused' }),
  {
    kind: 'dead-letter',
    ...event,
    ...again,
    messageId: 'refused',
    attempts: 1,
    reason: 'x',
    detail: 'x',
  },
  { kind: 'dropped', ...event, ...again, messageId: 'dropped', by: 'user' },
  attemptLine('never sent again', { at: again.at }),
  attemptLine('of an earlier run', { at: again.at, redrivenAt: time(-1) }),
  attemptLine('of a later run', { at: again.at, redrivenAt: time(60_001) }),
  attemptLine('elsewhere', { ...again, destination: 'ads' }),
  attemptLine('says so', {
    ...failed,
    redrivenAt: time(-1),
    answer: `"redrivenAt":"${redrivenAt}"`,
  }),
];

test('what became of the events of a run is known from their attempts alone', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-index-'));
  const metrics = new ConsoleMetrics(new Registry());
  const database = await openIndexDatabase(folder, { log: silentLogger, metrics });
  t.after(async () => {
    await database.close();
    await rm(folder, { recursive: true });
  });
  const words = new Words();
  const rows = lines.map((line, seq) => rowOfLine(line, seq, words, fromMs) ?? assert.fail());
  await append(database.writer, attemptsTable, rows);
  const became = { delivered: 1, refused: 1, dropped: 1, waiting: 1 };
  assert.deepEqual(await whatBecame({ database, words }, span), became);
  const all = await whatBecame({ database, words }, { ...span, destinations: undefined });
  assert.deepEqual(all, { ...became, delivered: 2 });
  const nobody = await whatBecame({ database, words }, { ...span, destinations: ['none'] });
  assert.deepEqual(nobody, { delivered: 0, refused: 0, dropped: 0, waiting: 0 });
});
