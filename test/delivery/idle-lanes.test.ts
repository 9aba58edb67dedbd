import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerOk, failsWith, hangs, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

function lanes({ engine }: SimulatedWorld): number {
  return Object.values(engine.state().lanesByState).reduce((sum, count) => sum + count, 0);
}

describe('a destination that gets nothing for ten minutes', () => {
  test('is forgotten, and its breaker after one minute without a failure', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    const answers = [failsWith(503)];
    world.answer = () => answers.shift() ?? answerOk;
    world.publish('crm');
    await world.clock.pass(30_000);
    assert.deepEqual([world.delivered.length, world.engine.state().breakers.closed], [1, 1]);
    await world.clock.pass(minuteMs);
    assert.deepEqual([lanes(world), world.engine.state().breakers.closed], [1, 0]);
    await world.clock.pass(10 * minuteMs);
    assert.equal(lanes(world), 0);
    world.publish('crm');
    await world.clock.pass(1_000);
    assert.equal(world.delivered.length, 2);
  });

  test('is still left alone for as long as its endpoint asked for', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = () => failsWith(429, hourMs);
    world.publish('crm', 'a');
    await world.clock.pass(30 * minuteMs);
    world.publish('crm', 'b');
    await world.clock.pass(29 * minuteMs);
    assert.equal(world.requests.length, 1);
  });

  test('is still known to be away', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = () => hangs;
    for (let i = 0; i < 5; i++) world.publish('crm', `u${i}`);
    await world.clock.pass(5_100);
    // So that none of them comes back meanwhile.
    for (const tierMs of world.topology.retryTiersMs) world.lose(world.topology.retryTopic(tierMs));
    await world.clock.pass(20 * minuteMs);
    const before = world.requests.length;
    for (let i = 0; i < 10; i++) world.publish('crm', `v${i}`);
    await world.clock.pass(4_000);
    assert.equal(world.requests.length - before, 1);
  });
});
