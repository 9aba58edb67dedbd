import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOk, SimulatedWorld } from '../simulated-world.ts';

test('the events of one user are not put off where an endpoint works them off within seconds', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.addDestination('quiet', { topic: 'dedicated' });
  world.answer = () => ({ ...answerOk, afterMs: 3 });
  // None of them ever waits for a slot, so nothing shows how fast slots become free.
  const ids = Array.from({ length: 5_000 }, () => world.publish('crm', 'one'));
  for (let tenth = 0; tenth < 200; tenth++) {
    world.publish('quiet', `u${tenth}`, {}, 'delivery.quiet');
    await world.clock.pass(100);
  }
  assert.equal(world.atRetry, 0);
  assert.deepEqual(
    world.delivered.filter((id) => ids.includes(id)),
    ids,
  );
});
