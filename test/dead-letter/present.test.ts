import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { LetterCounts, presentLetter, presentLetters } from '../../src/dead-letter/present.ts';
import { Redrives, redriveRecord } from '../../src/dead-letter/redrives.ts';
import { readRejected } from '../../src/dead-letter/rejected.ts';
import { rejectedView } from '../../src/dead-letter/redrive-rejected.ts';
import { rejectedLetter } from './letters.ts';

const time = '2026-11-20T18:59:40.123Z';
const none = new Redrives('p.ingest.rejected');
const sent = new Redrives('p.ingest.rejected');
const mark = redriveRecord('', rejectedLetter({ offset: 5 }), { time, redrive: 'run1' });
sent.collect({ key: Buffer.from(String(mark.key)), value: Buffer.from(String(mark.value)) });

test('the list has a line for each call', () => {
  assert.equal(
    presentLetters(
      [rejectedLetter({}), rejectedLetter({ offset: 5, key: null })],
      sent,
      'table',
      rejectedView,
      2_000 + 5 * 60_000,
    ),
    [
      'PLACE  AGE  REASON             KEY  DETAIL',
      '2:0    5m   unknown-write-key  u1   No source has the write key "wk_new".',
      '2:5    5m   unknown-write-key  -    No source has the write key "wk_new".',
    ].join('\n'),
  );
});

test('the wide list says also where calls were read, and when they were sent again', () => {
  const call = rejectedLetter({ offset: 5 });
  const lines = presentLetters([call], sent, 'wide', rejectedView).split('\n');
  assert.match(lines[0] ?? '', / DETAIL +ORIGIN +SENT AGAIN$/);
  assert.match(lines[1] ?? '', / web-calls 1:7 +2026-11-20T18:59:40\.123Z$/);
});

test('the age of a letter is told in what tells most of it', () => {
  const ageAfter = (ms: number): string =>
    presentLetters([rejectedLetter()], none, 'table', rejectedView, 2_000 + ms).split(/ +/)[5] ??
    '';
  const hourMs = 3_600_000;
  assert.deepEqual(
    [-1, 0, 119_999, 120_000, 2 * hourMs - 1, 2 * hourMs, 47.9 * hourMs, 48 * hourMs].map(ageAfter),
    ['0s', '0s', '119s', '2m', '119m', '2h', '47h', '2d'],
  );
});

test('YAML says the same as JSON, and commands no terminal either', () => {
  const letter = rejectedLetter({ key: 'u\u009b2J\u202e\u{e0001}é', value: '\u202e' });
  for (const present of [
    (format: 'json' | 'yaml') => presentLetters([letter], sent, format, rejectedView),
    (format: 'json' | 'yaml') => presentLetter(letter, sent, format, rejectedView),
  ]) {
    assert.deepEqual(parse(present('yaml')), JSON.parse(present('json')));
    assert.doesNotMatch(present('yaml'), /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/u);
  }
});

test('one call is shown to programs with its headers and its value', () => {
  const letter = rejectedLetter({ value: '{"writeKey":"wk_new"}', headers: { trace: 't' } });
  const shown = JSON.parse(presentLetter(letter, none, 'json', rejectedView)) as object;
  assert.partialDeepStrictEqual(shown, {
    partition: 2,
    key: 'u1',
    headers: { trace: 't' },
    body: '{"writeKey":"wk_new"}',
  });
});

test('the list for programs has everything but the bytes', () => {
  assert.deepEqual(
    JSON.parse(presentLetters([rejectedLetter({ offset: 5 })], sent, 'json', rejectedView)),
    [
      {
        partition: 2,
        offset: 5,
        time: '1970-01-01T00:00:02.000Z',
        reason: 'unknown-write-key',
        detail: 'No source has the write key "wk_new".',
        key: 'u1',
        sentAgain: '2026-11-20T18:59:40.123Z',
        origin: { topic: 'web-calls', partition: 1, offset: 7, time: '1970-01-01T00:00:01.000Z' },
      },
    ],
  );
});

test('a time that no date can have is shown as what it is, in the list, to programs and in full', () => {
  const texts: readonly (readonly [number, string])[] = [
    [2 ** 53 - 1, '(not a time: 9007199254740991)'],
    [-(2 ** 63), '(not a time: -9223372036854776000)'],
    [NaN, '(not a time: NaN)'],
  ];
  for (const [timestampMs, text] of texts) {
    const { record } = rejectedLetter({ headers: { 'postrider-origin': 'none' } });
    const letter = readRejected({ ...record, timestampMs });
    const table = presentLetters([letter], none, 'table', rejectedView);
    assert.ok(table.includes(`2:0    ${text}  unknown-write-key`), table);
    const json = presentLetters([letter], none, 'json', rejectedView);
    const [listed] = JSON.parse(json) as { time: string; origin: { time: string } }[];
    assert.deepEqual([listed?.time, listed?.origin.time], [text, text]);
    const shown = presentLetter(letter, none, 'table', rejectedView).split('\n');
    assert.deepEqual(
      shown.filter((line) => line.endsWith(text)).map((line) => line.replace(/ {2}.*/, '')),
      ['time', 'origin time'],
    );
  }
});

test('one call is shown with its headers and its value', () => {
  const letter = rejectedLetter({ value: '{"writeKey":"wk_new"}', headers: { trace: 't' } });
  const text = presentLetter(letter, none, 'table', rejectedView);
  assert.match(text, /^header trace +t$/m);
  assert.match(text, /^origin +web-calls 1:7$/m);
  assert.match(text, /\n\n\{"writeKey":"wk_new"\}$/);
});

test('what producers wrote cannot command the terminal', () => {
  const letter = rejectedLetter({
    key: '\u001b[2J',
    value: 'a\u0007b\u202ec\n\u009bd',
    headers: { '\u001b]0;': '\r' },
  });
  const shown =
    presentLetter(letter, none, 'table', rejectedView) +
    presentLetters([letter], none, 'table', rejectedView);
  assert.deepEqual(
    shown.match(/[\p{Cc}\p{Cf}]/gu)?.filter((found) => found !== '\n'),
    [],
  );
  assert.match(shown, /a\\u0007b\\u202ec\\u000a\\u009bd/);
});

test('bytes that are no text are shown in base64', () => {
  const letter = rejectedLetter({ value: Buffer.from([0xff, 0xfe]) });
  assert.match(
    presentLetter(letter, none, 'table', rejectedView),
    /2 bytes, not text; in base64: \/\/4=$/,
  );
});

test('counts start with the most frequent reason', () => {
  const counts = new LetterCounts(rejectedView);
  for (const reason of ['batch', 'empty', 'empty'])
    counts.add(rejectedLetter({ headers: { reason } }));
  assert.equal(counts.present('call'), 'REASON  CALLS\nempty   2\nbatch   1');
});

test('a letter of a topic that was made again does not count as sent, wherever it lies', () => {
  const other = rejectedLetter({ offset: 5 });
  const later = { ...other, record: { ...other.record, timestampMs: 3_000 } };
  assert.equal(sent.timeOf(other.record), time);
  assert.equal(sent.timeOf(later.record), undefined);
  assert.equal(sent.timeOf(rejectedLetter({ offset: 6 }).record), undefined);
});

test('a mark whose time cannot be read does not count', () => {
  for (const odd of ['', 'soon', '2026-13-01T00:00:00.000Z', '2026-11-20 (\u001b[2J)', '275761']) {
    const marked = new Redrives('p.ingest.rejected');
    const { key, value } = redriveRecord('', rejectedLetter(), { time: odd, redrive: 'run1' });
    marked.collect({ key: Buffer.from(String(key)), value: Buffer.from(String(value)) });
    assert.equal(marked.timeOf(rejectedLetter().record), undefined, odd);
  }
});

test('the list for programs commands no terminal, and is the same to a program', () => {
  const key = 'u\u009b2J\u202e\u{e0001}\u2028é';
  const json = presentLetters([rejectedLetter({ key })], sent, 'json', rejectedView);
  assert.doesNotMatch(json, /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/u);
  assert.equal((JSON.parse(json) as { key: string }[])[0]?.key, key);
});
