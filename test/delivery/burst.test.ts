import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOk, minuteMs, SimulatedWorld } from './simulated-world.ts';

/** Every other destination gets an event each tenth of a second. */
async function quietTraffic(world: SimulatedWorld, forMs: number): Promise<void> {
  for (let ms = 0; ms < forMs; ms += 100) {
    for (let n = 0; n < 4; n++) world.publish(`quiet-${n}`, `u${ms}`);
    await world.clock.pass(100);
  }
}

test('a burst for an endpoint that keeps up with it is not put off, whenever it comes', async () => {
  for (let phaseMs = 0; phaseMs < 1_000; phaseMs += 70) {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    for (let n = 0; n < 4; n++) world.addDestination(`quiet-${n}`);
    world.answer = () => ({ ...answerOk, afterMs: 20 });
    await quietTraffic(world, 2_000);
    await world.clock.pass(phaseMs);
    for (let n = 0; n < 1_000; n++) world.publish('crm', `v${n}`);
    await quietTraffic(world, 2_000);
    assert.equal(world.atRetry, 0, `${phaseMs} ms into the second`);
    await world.clock.pass(minuteMs);
    assert.equal(world.requests.length, world.delivered.length);
  }
});
