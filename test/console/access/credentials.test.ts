import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Credentials } from '../../../src/console/access/credentials.ts';

const hourMs = 3_600_000;

test('a credential is opened for its own session, with the key that it was sealed with, and for nothing else', () => {
  const key = randomBytes(32);
  const clock = { now: () => 0 };
  const credentials = new Credentials(key, clock);
  const holder = { id: 'one', untilMs: hourMs };
  const sealed = credentials.seal('prl_secret', holder);
  assert.ok(sealed !== undefined);
  assert.match(sealed, /^[\w-]+$/, 'letters that a cookie can have');
  assert.notEqual(sealed, credentials.seal('prl_secret', holder));
  assert.equal(credentials.open(sealed, holder), 'prl_secret');
  assert.equal(new Credentials(key, clock).open(sealed, holder), 'prl_secret', 'after a restart');
  assert.equal(credentials.open(sealed, { id: 'two' }), undefined);
  assert.equal(new Credentials(randomBytes(32), clock).open(sealed, holder), undefined);
  for (const changed of ['', 'a', sealed.slice(0, -1), `${sealed}AAAA`, `A${sealed.slice(1)}`])
    if (changed !== sealed) assert.equal(credentials.open(changed, holder), undefined, changed);
});

test('one that is too long for a cookie is kept until its session ends, and no more of them than there is room for', () => {
  let nowMs = 0;
  const credentials = new Credentials(randomBytes(32), { now: () => nowMs });
  const long = 'x'.repeat(6_000);
  const holder = (n: number): { id: string; untilMs: number } => ({
    id: String(n),
    untilMs: nowMs + hourMs,
  });
  assert.equal(credentials.seal(long, holder(0)), undefined);
  assert.equal(credentials.open(undefined, holder(0)), long);
  assert.equal(credentials.open(undefined, holder(1)), undefined);
  credentials.forget(holder(0));
  assert.equal(credentials.open(undefined, holder(0)), undefined);

  credentials.seal('x'.repeat(20_000), holder(0));
  assert.equal(credentials.open(undefined, holder(0)), undefined, 'too long for this too');

  const keptOf = (count: number): number =>
    Array.from({ length: count }, (_, n) => credentials.open(undefined, holder(n))).filter(
      (each) => each !== undefined,
    ).length;
  for (let n = 0; n < 1_500; n += 1) credentials.seal(long, holder(n));
  assert.equal(keptOf(1_500), 1_000);
  assert.equal(credentials.open(undefined, holder(0)), undefined, 'the oldest went first');
  nowMs += hourMs;
  credentials.seal(long, holder(1_500));
  assert.equal(keptOf(1_501), 1);
});
