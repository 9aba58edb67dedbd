import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOk, defaultPolicy, minuteMs, SimulatedWorld } from '../simulated-world.ts';

test('what waits in a lane that becomes slow is put off, except for one event', async () => {
  const world = new SimulatedWorld({ maxInFlight: 16 });
  world.addDestination('slow', { maxInFlight: 4 });
  world.addDestination('quick');
  world.answer = (url) => ({ ...answerOk, afterMs: url.includes('slow') ? 4_500 : 20 });
  for (let n = 0; n < 30; n++) world.publish('slow', `u${n}`);
  for (let n = 0; n < 30; n++) {
    world.publish('quick', `u${n}`);
    await world.clock.pass(100);
  }
  assert.equal(world.engine.state().queued, 1);
  assert.equal(world.metrics.deferrals.get('slow'), 25);
});

test('what a slow endpoint that works has no slot for comes back after the shortest time', async () => {
  const tiersMs = [2_000, minuteMs];
  const world = new SimulatedWorld({ policy: { ...defaultPolicy, tiersMs }, maxInFlight: 16 });
  world.addDestination('slow', { maxInFlight: 4 });
  world.addDestination('quick');
  world.answer = (url) => ({ ...answerOk, afterMs: url.includes('slow') ? 4_500 : 20 });
  for (let n = 0; n < 4; n++) world.publish('slow', `u${n}`);
  for (let n = 0; n < 20; n++) {
    world.publish('quick', `u${n}`);
    await world.clock.pass(100);
  }
  for (let n = 0; n < 5; n++) world.publish('slow', `v${n}`);
  await world.clock.pass(1_000);
  assert.deepEqual(
    world.retries.map(({ topic }) => topic),
    Array<string>(4).fill(world.topology.retryTopic(2_000)),
  );
});
