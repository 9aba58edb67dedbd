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

test('so they do where they come while no first attempt is there', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 8 });
  world.answer = () => ({ ...answerOk, afterMs: 900 });
  for (let n = 0; n < 20; n++)
    world.publish('crm', `r${n}`, { attempts: 1, dueMs: world.clock.now() }, 'retry.10s');
  await world.clock.pass(10);
  world.answer = () => ({ ...answerOk, afterMs: 20 });
  const first = world.publish('crm', 'f');
  await world.clock.pass(100);
  assert.deepEqual(world.delivered, [first]);
});

test('one slot is enough for retries alone', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 1 });
  for (let n = 0; n < 20; n++)
    world.publish('crm', `r${n}`, { attempts: 1, dueMs: world.clock.now() }, 'retry.10s');
  await world.clock.pass(1_000);
  assert.equal(world.delivered.length, 20);
});
