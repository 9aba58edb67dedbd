import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createContext } from '../../src/cli/context.ts';
import { startRoles } from '../../src/cli/roles/start-roles.ts';
import type { RoleName } from '../../src/topology.ts';
import { ensureTopics } from '../../src/kafka/admin.ts';
import { install } from '../harness/postrider.ts';

/** How many producers the roles open in one process. */
async function producersOf(names: readonly RoleName[]): Promise<number> {
  const { environment } = await install({ LOG_LEVEL: 'silent' });
  const context = createContext(environment);
  const { kafka } = context;
  await ensureTopics(kafka, (await context.topology()).all);
  const { compressor } = kafka;
  let producers = 0;
  Object.defineProperty(kafka, 'compressor', {
    // Each producer asks once what to compress with, and nobody else does.
    get: () => {
      producers += 1;
      return compressor;
    },
  });
  const roles = await startRoles(context, names);
  await roles.stop();
  return producers;
}

test('a gateway alone opens its own producer and no other', async () => {
  assert.equal(await producersOf(['gateway']), 1);
});

test('router and delivery share one, beside the one of the gateway', async () => {
  assert.equal(await producersOf(['router', 'delivery']), 1);
  assert.equal(await producersOf(['gateway', 'router', 'delivery']), 2);
});
