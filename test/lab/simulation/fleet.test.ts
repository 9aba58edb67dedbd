import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulateFleet } from './simulate-fleet.ts';

test('a fleet that is restarted and loses a worker settles, loses nothing, and repeats only what the lost one had in hand', async () => {
  const found = await simulateFleet({
    workers: 6,
    routers: 2,
    partitions: 24,
    atATime: 2,
    callsPerSecond: 5,
  });
  assert.ok(found.calls > 100, `${found.calls} calls`);
  assert.equal(found.lost, 0);
  assert.equal(found.repeated.restart, 0);
  assert.ok(found.longestStepMs < 10_000, `${found.longestStepMs} ms`);
  assert.ok(found.longestWaitMs.restart < 5_000, `${found.longestWaitMs.restart} ms`);
  assert.ok(found.recoveredMs < 20_000, `${found.recoveredMs} ms`);
});
