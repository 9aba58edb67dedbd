import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptLine } from '../../src/event/attempt-line.ts';
import {
  hashOf,
  latencyAt,
  latencyClasses,
  latencyClassOf,
  lineOfRow,
  rowOfLine,
} from '../../src/console/index/attempt-rows.ts';
import { LastHours } from '../../src/console/index/last-hour.ts';
import { bucketMs } from '../../src/console/index/schema.ts';
import { Words } from '../../src/console/index/words.ts';
import { attemptLine } from './records.ts';

const of = { at: '2026-01-31T12:00:00.123Z', destination: 'crm' };
const event = { ...of, source: 'shop', messageId: 'm-1', user: 'ada', type: 'track' } as const;

const lines: readonly AttemptLine[] = [
  attemptLine('m-1'),
  attemptLine('m-2', {
    outcome: 'refused',
    cause: 'tls',
    detail: 'not trusted',
    redrivenAt: of.at,
    batch: { id: 'batch_a', place: 3, events: 100 },
  }),
  { kind: 'retry', ...event, attempts: 2, until: of.at, deadline: of.at },
  { kind: 'deferred', ...event, attempts: 0, cause: 'breaker-open' },
  { kind: 'bundle-deferred', ...of, events: 9, cause: 'breaker-open', until: of.at },
  { kind: 'dead-letter', ...event, attempts: 3, reason: 'expired', detail: 'answered 500' },
  { kind: 'kept', ...event, attempts: 0 },
  { kind: 'dropped', ...event, by: 'user' },
];

for (const line of lines)
  test(`a line of kind ${line.kind} comes back as it was`, () => {
    const words = new Words();
    const row = rowOfLine(JSON.parse(JSON.stringify(line)), 1, words, Date.now());
    assert.ok(row !== undefined);
    assert.deepEqual(lineOfRow(row, words), line);
  });

test('lines of different destinations of one id are kept apart, and name it', () => {
  const words = new Words();
  const rows = [{}, { uid: 'second' }, { uid: 'no uid' }].map((more) => {
    const row = rowOfLine({ kind: 'kept', ...event, attempts: 0, ...more }, 1, words, Date.now());
    return row ?? assert.fail();
  });
  assert.deepEqual(
    rows.map(({ destination }) => destination),
    ['crm', 'crm second', 'crm'].map((word) => words.find(word)),
  );
  for (const row of rows) assert.equal(lineOfRow(row, words).destination, 'crm');
  assert.equal(words.ofId('crm').length, 2);
});

test('half an emoji in an id is found by what a URL makes of it', () => {
  const line = { kind: 'kept', ...event, attempts: 0, messageId: 'cut\ud83d' };
  const row = rowOfLine(line, 1, new Words(), Date.now());
  assert.equal(row?.message, 'cut\ufffd');
  assert.equal(row.messageHash, hashOf('cut\ufffd'));
});

test('what is no line, or of a later version, is left out', () => {
  const none = [null, 7, [], {}, { ...event, kind: 'new' }, { ...event, kind: 'delivered' }];
  const odd = [
    { ...event, kind: 'kept', at: 'once' },
    { ...event, kind: 'kept', destination: 7 },
  ];
  for (const json of [...none, ...odd])
    assert.equal(rowOfLine(json, 1, new Words(), Date.now()), undefined);
});

test('words keep their numbers, and their number has an end', () => {
  const words = new Words([
    [0, 'a'],
    [1, 'b'],
  ]);
  assert.deepEqual([words.idOf('b'), words.idOf('c'), words.idOf('a')], [1, 2, 0]);
  assert.deepEqual(words.unwritten(), [[2, 'c']]);
  words.wrote();
  assert.deepEqual(words.unwritten(), []);
  for (let each = 0; each < 300_000; each += 1) words.idOf(`word ${each}`);
  assert.equal(words.of(words.idOf('one more')), '(others)');
  assert.ok(words.unwritten().length <= 200_001);
});

test('percentiles of classes are close to those of the times', () => {
  const counts = new Array<number>(latencyClasses).fill(0);
  for (let tookMs = 1; tookMs <= 1_000; tookMs += 1) {
    const each = latencyClassOf(tookMs);
    counts[each] = (counts[each] ?? 0) + 1;
  }
  assert.ok(Math.abs((latencyAt(counts, 0.5) ?? 0) - 500) < 20);
  assert.ok(Math.abs((latencyAt(counts, 0.99) ?? 0) - 990) < 20);
  assert.equal(latencyAt([], 0.99), null);
  assert.equal(latencyClassOf(1e9), latencyClasses - 1);
});

test('the last hour forgets what is older, and counts what comes late', () => {
  const hours = new LastHours();
  const nowMs = 1_000 * bucketMs + 7;
  hours.add(3, 980, 0, 1);
  hours.add(3, 1_000, 0, 1);
  hours.add(3, 999, 1, 4);
  hours.add(3, 988, 0, 1);
  hours.add(3, 1_000, 4, 255);
  const { successRate, points } = hours.of(3, nowMs);
  assert.equal(successRate, 0.5);
  assert.deepEqual(points.at(-1)?.slice(0, 2), [1, 0]);
  assert.deepEqual(points.at(-2)?.slice(0, 2), [0, 1]);
  assert.deepEqual(hours.of(undefined, nowMs).successRate, undefined);
  assert.equal(hours.of(3, nowMs + 12 * bucketMs).successRate, undefined);
});
