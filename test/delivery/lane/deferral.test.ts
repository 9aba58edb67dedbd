import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultPolicy, hangs, minuteMs, SimulatedWorld } from '../simulated-world.ts';

test('as many events as have slots wait for the result of a probe, and the others are put off', async () => {
  const world = new SimulatedWorld({ policy: { ...defaultPolicy, tiersMs: [5 * minuteMs] } });
  world.addDestination('crm', { maxInFlight: 3 });
  world.answer = () => hangs;
  for (let n = 0; n < 6; n++) world.publish('crm', `u${n}`);
  await world.clock.pass(20_100);
  assert.equal(world.engine.state().breakers['half-open'], 1);
  world.publish('crm', 'probe');
  for (let n = 0; n < 5; n++) world.publish('crm', `v${n}`);
  const { inFlight, queued } = world.engine.state();
  assert.deepEqual([inFlight, queued], [1, 3]);
  assert.equal(world.metrics.deferrals.get('breaker'), 2);
});
