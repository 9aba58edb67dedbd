import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeLastAnswer,
  encodeLastAnswer,
  lastAnswerOf,
  untriedText,
} from '../../src/event/last-answer.ts';

const atMs = Date.parse('2026-11-24T10:04:31.007Z');

test('of an answer at most 200 bytes are kept, in whole characters', () => {
  const body = Buffer.from(`${'a'.repeat(199)}é and more`);
  const last = lastAnswerOf(atMs, { detail: 'answered 500' }, 'https://e.test/', body);
  assert.equal(last.body, 'a'.repeat(199));
  assert.deepEqual(decodeLastAnswer(JSON.parse(encodeLastAnswer(last))), last);
});

test('what is no answer is left out, and the event goes on', () => {
  for (const json of [null, 7, {}, { t: -1, d: 'x' }, { t: 1 }, { t: 1.5, d: 'x' }])
    assert.equal(decodeLastAnswer(json), undefined, JSON.stringify(json));
});

test('an event that was given up without another attempt says since when, why, and what came of the last', () => {
  const answered = { atMs, detail: 'answered 500', body: 'upstream timeout' };
  const texts = [
    untriedText('breaker', 2, answered),
    untriedText('breaker', 2, { atMs, detail: 'answered 429' }),
    untriedText('', 1, { atMs, detail: 'ECONNREFUSED: connect' }),
    untriedText('breaker', 0, undefined),
    untriedText('breaker', 3, undefined),
    untriedText('', 0, undefined),
  ];
  assert.deepEqual(texts, [
    'not tried again since 2026-11-24T10:04Z (breaker); last answer 500 "upstream timeout"',
    'not tried again since 2026-11-24T10:04Z (breaker); last answer 429',
    'not tried again since 2026-11-24T10:04Z; last attempt: ECONNREFUSED: connect',
    'never tried (breaker)',
    'not tried again (breaker)',
    '',
  ]);
});

test('a wish that cannot be one is left out', () => {
  for (const wish of ['1e500', '-1', '"5"', 'null'])
    assert.deepEqual(
      decodeLastAnswer(JSON.parse(`{"t":7,"d":"answered 503","r":${wish}}`)),
      { atMs: 7, detail: 'answered 503', url: undefined, body: undefined, retryAfterMs: undefined },
      wish,
    );
});
