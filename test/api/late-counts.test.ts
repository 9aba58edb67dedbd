// Runs in a process of its own: what it tests has to be loaded after it has mocked the timers.

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { LightMyRequestResponse } from 'fastify';

// Timers are looked up when these are imported.
mock.timers.enable({ apis: ['setTimeout'] });
const { resourceRoutes } = await import('./resource-stand.ts');
const { startApiStand, tokenEntry, tokensFile } = await import('./stand.ts');
const { exampleDestination } = await import('../resources/examples.ts');

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a count that is answered before it has ended keeps the place of its customer until then', async (t) => {
  const { stand, routes } = resourceRoutes();
  const tokens = tokenEntry('shop', 'scopes: [operate]\n  customers: [acme]');
  const { server } = await startApiStand(t, { tokensFile: tokensFile(tokens) }, routes);
  stand.put(exampleDestination({ id: 'crm', customer: 'acme' }));
  const { promise, resolve } = Promise.withResolvers<undefined>();
  stand.until = promise;
  const count = async (): Promise<LightMyRequestResponse> =>
    server.inject({
      method: 'POST',
      url: '/v1/customers/acme/redrive?dryRun=true',
      headers: { authorization: 'Bearer shop-token' },
    });
  const late = count();
  while (stand.operated.length === 0) await turn();
  mock.timers.tick(10_000);
  assert.equal((await late).statusCode, 503);
  const answers: number[] = [];
  const other = count().then(({ statusCode }) => answers.push(statusCode));
  while (answers.length === 0 && stand.operated.length === 1) await turn();
  // One that was begun would wait for it as well.
  resolve(undefined);
  await other;
  assert.deepEqual(answers, [429]);
  assert.equal((await count()).statusCode, 200);
});
