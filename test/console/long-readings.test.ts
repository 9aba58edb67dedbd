import assert from 'node:assert/strict';
import { test } from 'node:test';
// Its timers are looked up when it is imported.

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a reading that was given up counts until it has ended', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { LongReadings } = await import('../../src/console/api/in-time.ts');
  const readings = new LongReadings(1);
  const slow = Promise.withResolvers<string>();
  const first = assert.rejects(
    readings.run(() => slow.promise),
    { status: 503, message: /for ten seconds/ },
  );
  await turn();
  t.mock.timers.tick(10_000);
  await first;
  const next = (): Promise<string> => readings.run(() => Promise.resolve('read'));
  await assert.rejects(next(), { status: 503, message: /^Several are being looked up/ });
  slow.resolve('at last');
  await turn();
  assert.equal(await next(), 'read');
  await assert.rejects(
    readings.run(() => Promise.reject(new Error('broken'))),
    /broken/,
  );
  assert.equal(await next(), 'read');
});
