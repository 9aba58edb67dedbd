// Runs in a process of its own: what it tests has to be loaded after it has mocked the timers.

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { LongReadings } from '../../src/console/api/turns.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Its timers are looked up when it is imported. */
async function readingsOf(t: TestContext, most: number): Promise<LongReadings> {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const module = await import('../../src/console/api/turns.ts');
  return new module.LongReadings(most);
}

test('a reading that was given up counts until it has ended', async (t) => {
  const readings = await readingsOf(t, 1);
  const slow = Promise.withResolvers<string>();
  const first = assert.rejects(
    readings.run(() => slow.promise),
    { status: 503, message: /for ten seconds/ },
  );
  await turn();
  t.mock.timers.tick(10_000);
  await first;
  const next = (): Promise<string> => readings.run(() => Promise.resolve('read'));
  const waiting = assert.rejects(next(), { status: 503, message: /^Many events are being/ });
  await turn();
  t.mock.timers.tick(10_000);
  await waiting;
  const second = next();
  slow.resolve('at last');
  assert.equal(await second, 'read', 'it waited for its turn');
  await assert.rejects(
    readings.run(() => Promise.reject(new Error('broken'))),
    /broken/,
  );
  assert.equal(await next(), 'read');
});

test('customers beyond so many are refused at once, and staff is not', async (t) => {
  const readings = await readingsOf(t, 2);
  const slow = Promise.withResolvers<string>();
  const all = Array.from({ length: 66 }, (_, place) =>
    readings.run(() => slow.promise, `customer-${place}`).catch((error: unknown) => String(error)),
  );
  assert.match(await Promise.race(all), /Many events are being looked up/);
  assert.equal(await readings.run(() => Promise.resolve('staff')), 'staff');
  slow.resolve('read');
  const ended = await Promise.all(all);
  assert.equal(ended.filter((each) => each === 'read').length, 65);
});
