import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOk, SimulatedWorld } from './simulated-world.ts';

test('retries that take long leave a quarter of the slots to first attempts', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 8 });
  const firsts = new Set<string>();
  world.answer = (_url, { messageId }) => ({
    ...answerOk,
    afterMs: firsts.has(messageId) ? 20 : 900,
  });
  const dueMs = world.clock.now();
  for (let n = 0; n < 100; n++) {
    world.publish('crm', `r${n}`, { attempts: 1, dueMs }, 'retry.10s');
    firsts.add(world.publish('crm', `f${n}`));
  }
  await world.clock.pass(3_000);
  assert.deepEqual(
    [...firsts].filter((id) => !world.delivered.includes(id)),
    [],
  );
});
