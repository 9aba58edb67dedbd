import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  answerOk,
  failsWith,
  hourMs,
  minuteMs,
  SimulatedWorld,
} from '../delivery/simulated-world.ts';
import { coverage, mean, outageCosts, upShare } from './outages.ts';

describe('an endpoint that is away', () => {
  for (const [minutes, seeds, mostWrites] of [
    [1, 4, 3.2],
    [10, 2, 3],
    [60, 1, 4.5],
  ] as const) {
    test(`for ${minutes} min has its backlog soon after, for few writes`, async () => {
      const costs = await outageCosts(minutes, seeds);
      const writes = mean(costs.map((cost) => cost.writes));
      const attempted = mean(costs.map((cost) => cost.attempted));
      assert.ok(writes <= mostWrites, `${writes} writes to retry topics a record`);
      assert.ok(attempted >= 0.95, `${attempted} of the backlog attempted`);
    });
  }

  test('for a minute has its backlog soon after, though the clock was set forward meanwhile', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = () => failsWith(503);
    let published = 0;
    for (let second = 0; second < 60; second++) {
      if (second === 30) world.clock.set(hourMs);
      for (let n = 0; n < 3; n++) world.publish('crm', `u${published++}`);
      await world.clock.pass(1_000);
    }
    world.answer = () => answerOk;
    await world.clock.pass(3 * minuteMs);
    assert.equal(world.delivered.length, published);
  });
});

test('over a distribution of outages, some longer than the window, what an oracle would deliver is delivered', async () => {
  const { published, firstTries, oracle, delivered } = await coverage(11, minuteMs);
  assert.ok(
    Math.abs(firstTries / published - upShare) < 0.002,
    `${firstTries / published} at once`,
  );
  assert.ok(oracle < published, 'the oracle cannot deliver all');
  const share = delivered / oracle;
  assert.ok(share >= 0.999, `${share} of what the oracle delivers`);
});
