import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOk, failsWith, SimulatedWorld } from '../simulated-world.ts';

test('a destination that asks for a moment of peace again and again is held since it first did so', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  const firstMs = world.clock.now();
  // Others are delivered in between, so it does not look as if it failed.
  for (let second = 0; second < 14; second++) {
    world.answer = () => (second % 2 === 0 ? failsWith(429) : answerOk);
    world.publish('crm', `u${second}`);
    await world.clock.pass(1_000);
  }
  const standing = world.engine.reports.standing('crm');
  assert.equal(standing?.state, 'held');
  assert.ok(standing.sinceMs - firstMs < 1_000, `since ${standing.sinceMs - firstMs} ms`);
});
