import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answerOk,
  defaultPolicy,
  failsWith,
  minuteMs,
  SimulatedWorld,
} from '../simulated-world.ts';

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

for (const [slowAnswers, isSlow] of [
  [1, false],
  [5, true],
] as const)
  test(`after quick answers, ${slowAnswers} of two seconds: the lane is ${isSlow ? 'slow' : 'not slow'}`, async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    const deliver = async (afterMs: number): Promise<void> => {
      world.answer = () => ({ ...answerOk, afterMs });
      world.publish('crm', 'u1');
      await world.clock.pass(afterMs + 10);
    };
    for (let n = 0; n < 10; n++) await deliver(20);
    for (let n = 0; n < slowAnswers; n++) await deliver(2_000);
    assert.equal(world.engine.state().lanesByState.slow, isSlow ? 1 : 0);
  });
