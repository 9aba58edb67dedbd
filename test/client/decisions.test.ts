import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs } from '../../src/client/clock.ts';
import { judge, retryAfterMs } from '../../src/client/http-transport.ts';
import { isNamed } from '../../src/client/warnings.ts';
import { outcomeOfStatus } from '../../src/delivery/outcome.ts';

const nowMs = Date.UTC(2026, 10, 21, 12);

/** The pipeline tries these again until somebody mends the endpoint; the client reports a wrong write key at once. */
const ofEndpoint = [401, 403, 404, 405, 407, 410];

test('an answer is judged as the pipeline judges it, but one about a write key or an address is refused at once', () => {
  const kinds = { delivered: 'delivered', retryable: 'again', permanent: 'refused' };
  for (let status = 200; status < 600; status += 1) {
    const { kind } = judge({ status, retryAfter: null, body: '' }, nowMs);
    const ofPipeline = kinds[outcomeOfStatus(status, undefined, nowMs).kind];
    assert.equal(kind, ofEndpoint.includes(status) ? 'refused' : ofPipeline, String(status));
  }
});

test("the reason is the status with the endpoint's own message", () => {
  const reasonOf = (body: string): string => {
    const verdict = judge({ status: 401, retryAfter: null, body }, nowMs);
    return verdict.kind === 'refused' ? verdict.reason : '';
  };
  const answered = 'the endpoint answered 401';
  assert.equal(reasonOf('{"code":"x","message":"no such key"}'), `${answered}: no such key`);
  assert.equal(reasonOf(''), answered);
  assert.equal(reasonOf('null'), `${answered}: null`);
  const long = 'x'.repeat(5_000);
  assert.equal(reasonOf(long).length, `${answered}: `.length + 200);
  assert.equal(reasonOf(JSON.stringify({ message: long })).length, `${answered}: `.length + 200);
});

test('Retry-After is seconds or a date, at most five minutes', () => {
  assert.equal(retryAfterMs('7', nowMs), 7_000);
  assert.equal(retryAfterMs('40.0', nowMs), 40_000);
  assert.equal(retryAfterMs(' 0 ', nowMs), 0);
  assert.equal(retryAfterMs('Sat, 21 Nov 2026 12:00:09 GMT', nowMs), 9_000);
  assert.equal(retryAfterMs('Sat, 21 Nov 2020 12:00:09 GMT', nowMs), 0);
  assert.equal(retryAfterMs('86400', nowMs), 300_000);
  for (const value of [null, '', '-5', 'soon', '2026-11-21']) {
    assert.equal(retryAfterMs(value, nowMs), undefined, String(value));
  }
});

test('up to half of a wait is left out at random', () => {
  assert.deepEqual(
    [0, 0.5, 1].map((random) => backoffMs(3, () => random)),
    [400, 300, 200],
  );
  assert.equal(
    backoffMs(10_000, () => 0),
    5_000,
  );
});

test('DEBUG names the library alone, in a list, or with everything', () => {
  for (const debug of ['analytics', 'http,analytics', 'http analytics', '*']) {
    assert.ok(isNamed(debug), debug);
  }
  for (const debug of ['', 'other', 'analytics2', 'postrider']) assert.ok(!isNamed(debug), debug);
});
