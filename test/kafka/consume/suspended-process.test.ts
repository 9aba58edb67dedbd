import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopScene, until, valuesOf } from './loop-scene.ts';

/**
 * A process that was suspended outside of its poll is given the answers that came meanwhile before its own timers.
 * The jump of the clock stands for the suspension.
 */
test('what an answer brings after a suspension is taken in only when the group has answered as well', async (t) => {
  const scene = new LoopScene(t, 1);
  scene.logOf(0).append('before');
  const told: boolean[] = [];
  const member = await scene.joined({ onUnheard: (isUnheard) => told.push(isUnheard) });
  await until(() => {
    assert.equal(valuesOf(member, 0), 'before');
  });

  scene.group.heartbeatError = 'COORDINATOR_LOAD_IN_PROGRESS';
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + 11_000);
  scene.logOf(0).append('meanwhile');
  await until(() => {
    assert.deepEqual(told, [true]);
  });
  assert.equal(valuesOf(member, 0), 'before');

  scene.group.heartbeatError = undefined;
  await until(() => {
    assert.equal(valuesOf(member, 0), 'before meanwhile');
  });
  assert.deepEqual(told, [true, false]);
});
