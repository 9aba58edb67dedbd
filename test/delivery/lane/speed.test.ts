import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultPolicy, failsWith, minuteMs, SimulatedWorld } from '../simulated-world.ts';

for (const [failures, isSlow] of [
  [4, false],
  [5, true],
] as const)
  test(`a lane with ${failures} failures in a row is ${isSlow ? 'slow' : 'not slow'}`, async () => {
    const world = new SimulatedWorld({ policy: { ...defaultPolicy, tiersMs: [minuteMs] } });
    world.addDestination('crm');
    world.answer = () => failsWith(503);
    for (let n = 0; n < failures; n++) world.publish('crm', `u${n}`);
    await world.clock.pass(100);
    assert.equal(world.engine.state().lanesByState.slow, isSlow ? 1 : 0);
  });
