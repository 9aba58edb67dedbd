import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { outcomeOfError } from '../../src/delivery/http/errors.ts';
import {
  conditionShownBy,
  delivered,
  outcomeOfStatus,
  skipped,
  timedOut,
  unreachedInTime,
  worse,
} from '../../src/delivery/outcome.ts';
import type { AnswerRules, Outcome } from '../../src/delivery/outcome.ts';
import { parseRetryAfterMs } from '../../src/delivery/http/retry-after.ts';

const nowMs = Date.UTC(1994, 10, 6, 8, 49, 30);

describe('Retry-After', () => {
  test('is read as seconds and as every form of an HTTP date', () => {
    assert.equal(parseRetryAfterMs('0', nowMs), 0);
    assert.equal(parseRetryAfterMs(' 120 ', nowMs), 120_000);
    // JSON, in which it is kept, has no infinite number.
    assert.equal(parseRetryAfterMs('9'.repeat(400), nowMs), Number.MAX_SAFE_INTEGER);
    for (const date of [
      'Sun, 06 Nov 1994 08:49:37 GMT',
      'Sunday, 06-Nov-94 08:49:37 GMT',
      'Sun Nov  6 08:49:37 1994',
    ])
      assert.equal(parseRetryAfterMs(date, nowMs), 7_000, date);
    assert.equal(parseRetryAfterMs('Sat, 05 Nov 1994 08:49:37 GMT', nowMs), 0);
  });

  test('that is neither is as good as none', () => {
    for (const value of ['', '-5', 'soon', '0x10', 'Sun, 99 Nov', '1e3'])
      assert.equal(parseRetryAfterMs(value, nowMs), undefined, value);
  });

  test('never throws and never gives less than nothing', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        assert.ok((parseRetryAfterMs(value, nowMs) ?? 0) >= 0);
      }),
    );
  });
});

function coded(code: string, more: object = {}): Error & { code: string } {
  return Object.assign(new Error(code), { code }, more);
}

/** Of ours: descriptors, memory, ports. */
const wants = [
  ...['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EAGAIN'].map((code) => coded(code)),
  ...['OUT_OF_MEM', 'ERR_SSL_MALLOC_FAILURE', 'ERR_OSSL_EVP_MALLOC_FAILURE'].map((code) =>
    coded(code),
  ),
  coded('EADDRNOTAVAIL', { address: '93.184.216.34' }),
];

describe('outcomes', () => {
  test('of any status are one of the three, and only 2xx is a delivery', () => {
    for (let status = 200; status < 1_000; status++)
      assert.equal(outcomeOfStatus(status, undefined, nowMs).kind === 'delivered', status < 300);
  });

  test('of errors that nobody named are retryable', () => {
    for (const error of [
      new Error('?'),
      'text',
      undefined,
      Object.assign(new Error(), { code: 'E_NEW' }),
    ])
      assert.equal(outcomeOfError(error, 'reached').kind, 'retryable');
  });

  test('of errors with endless texts keep their beginning, in whole characters', () => {
    for (const before of ['', 'x']) {
      const text = `${before}${'😀'.repeat(5_000)}`;
      for (const error of [new Error(text), text]) {
        const { detail } = outcomeOfError(error, 'reached');
        assert.ok(detail.length >= 298 && detail.length <= 300, `${detail.length} characters`);
        assert.ok(detail.isWellFormed());
        assert.ok(detail.endsWith('😀…'));
      }
    }
    const short = new Error('x'.repeat(300));
    assert.partialDeepStrictEqual(outcomeOfError(short, 'reached'), { detail: short.message });
  });

  test('of rules are final or tried again as the destination says, whatever the default', () => {
    const ofAny = fc.constantFrom(400, 401, 404, 408, 409, 410, 422, 425, 429, 500, 503, 599);
    const statuses = fc.uniqueArray(ofAny, { maxLength: 4 });
    fc.assert(
      fc.property(
        statuses,
        statuses,
        fc.oneof(ofAny, fc.constantFrom(200, 301)),
        (on, giveUpOn, status) => {
          const rules: AnswerRules = new Map([
            ...giveUpOn.map((each) => [each, 'retry.giveUpOn'] as const),
            ...on.map((each) => [each, 'retry.on'] as const),
          ]);
          const usual = outcomeOfStatus(status, '60', nowMs);
          const outcome = outcomeOfStatus(status, '60', nowMs, undefined, rules);
          const rule = rules.get(status);
          if (rule === undefined) {
            assert.deepEqual(outcome, usual);
            return;
          }
          assert.equal(outcome.kind, rule === 'retry.on' ? 'retryable' : 'permanent');
          assert.partialDeepStrictEqual(outcome, {
            status,
            rule,
            detail: `answered ${status} (${rule})`,
          });
          // What is final shows that somebody is there, with rules and without.
          const isAlive = usual.kind !== 'retryable' || rule === 'retry.giveUpOn';
          assert.equal(conditionShownBy(outcome), isAlive ? 'up' : conditionShownBy(usual));
          if (outcome.kind === 'retryable') assert.equal(outcome.retryAfterMs, 60_000);
        },
      ),
    );
  });

  test('of several URLs keep what the endpoint said whose outcome counts', () => {
    const answer = { body: Buffer.from('busy'), isCut: false, headers: {} };
    const asksToWait = outcomeOfStatus(503, '60', nowMs, answer);
    const both = [worse(asksToWait, unreachedInTime), worse(unreachedInTime, asksToWait)];
    for (const sum of both)
      assert.deepEqual(sum, {
        kind: 'retryable',
        cause: 'status-5xx',
        detail: 'answered 503',
        status: 503,
        answer,
      });
  });

  test('of unknown authorities are final, of other certificate failures not', () => {
    const outcome = (code: string): Outcome =>
      outcomeOfError(Object.assign(new Error(code), { code }), 'reached');
    for (const code of ['DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'])
      assert.equal(outcome(code).kind, 'permanent', code);
    for (const code of [
      'CERT_HAS_EXPIRED',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'CERT_REVOKED',
      'EPROTO',
    ])
      assert.equal(outcome(code).kind, 'retryable', code);
  });

  test('of several addresses are that of the first', () => {
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const outcome = outcomeOfError(new AggregateError([refused]), 'unreached');
    assert.equal(outcome.kind === 'retryable' && outcome.cause, 'connection');
  });

  test('of several addresses are ours if one of them could not be tried for want of ours', () => {
    const refused = coded('ECONNREFUSED');
    for (const want of wants)
      for (const errors of [
        [refused, want],
        [want, refused],
      ]) {
        const several = new AggregateError(errors);
        const late = Object.assign(coded('UND_ERR_CONNECT_TIMEOUT'), { cause: several });
        for (const error of [several, late]) {
          const outcome = outcomeOfError(error, 'unreached');
          assert.equal(outcome.kind === 'retryable' && outcome.cause, 'local', want.code);
        }
      }
  });

  test('of a network without IPv6 are of the connection, as where there is no route', () => {
    const error = coded('EADDRNOTAVAIL', { address: '2606:4700::1111' });
    const outcome = outcomeOfError(error, 'unreached');
    assert.equal(outcome.kind === 'retryable' && outcome.cause, 'connection');
  });

  test('of bytes that are not HTTP are final only if no answer had begun', () => {
    const error = Object.assign(new Error('Expected HTTP/'), { name: 'HTTPParserError' });
    assert.equal(outcomeOfError(error, 'reached').kind, 'permanent');
    assert.equal(outcomeOfError(error, 'answering').kind, 'retryable');
  });

  test('of several URLs: success before retryable before final, in any order', () => {
    const gone: Outcome = { kind: 'permanent', reason: 'http-410', detail: '' };
    const all: Outcome[] = [delivered, timedOut, skipped, gone];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...all), { minLength: 1, maxLength: 5 }), (outcomes) => {
        const sum = outcomes.reduce<Outcome | undefined>(worse, undefined);
        const kinds = outcomes.map(({ kind }) => kind);
        const expected = kinds.includes('delivered')
          ? 'delivered'
          : kinds.includes('retryable')
            ? 'retryable'
            : 'permanent';
        assert.equal(sum?.kind, expected);
        if (sum === skipped) assert.ok(!outcomes.includes(timedOut), 'a real failure tells more');
      }),
    );
  });

  test('of several URLs say that nobody was reached only if no failure that may recover says otherwise', () => {
    const unreached: Outcome = {
      kind: 'retryable',
      cause: 'connection',
      detail: 'refused',
      unreached: true,
    };
    const busy = outcomeOfStatus(503, '60', nowMs);
    const gone: Outcome = { kind: 'permanent', reason: 'http-410', detail: '' };
    const want = outcomeOfError(coded('EMFILE'), 'unreached');
    const all = [timedOut, unreachedInTime, unreached, busy, want, skipped, gone];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...all), { minLength: 1, maxLength: 5 }), (outcomes) => {
        const sum = outcomes.reduce<Outcome | undefined>(worse, undefined);
        const retryable = outcomes.filter(
          (outcome) => outcome.kind === 'retryable' && outcome !== skipped,
        );
        const isUnreached = (outcome?: Outcome): boolean =>
          outcome?.kind === 'retryable' && outcome.unreached === true;
        assert.equal(isUnreached(sum), retryable.length > 0 && retryable.every(isUnreached));
        const isWant = retryable.length > 0 && retryable.every((outcome) => outcome === want);
        assert.equal(sum === want, isWant);
        const isAskedToWait = sum?.kind === 'retryable' && sum.retryAfterMs !== undefined;
        assert.equal(isAskedToWait, retryable.length > 0 && retryable.every((o) => o === busy));
      }),
    );
  });

  test('show that the endpoint is up, or down, or nothing', () => {
    for (const status of [200, 301, 400, 408, 422, 425, 429])
      assert.equal(conditionShownBy(outcomeOfStatus(status, undefined, nowMs)), 'up', `${status}`);
    for (const status of [401, 403, 404, 405, 407, 410, 500])
      assert.equal(conditionShownBy(outcomeOfStatus(status, undefined, nowMs)), 'down');
    assert.equal(conditionShownBy(timedOut), 'down');
    for (const error of wants)
      assert.equal(conditionShownBy(outcomeOfError(error, 'reached')), 'unknown', error.code);
  });
});
