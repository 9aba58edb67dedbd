import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isClean, soak } from './soak.ts';

/** One fault of the soak; `npm run soak` runs all of them, for as long as they last in life. */
test('a broker is killed and comes back, and no event is lost', async (t) => {
  const result = await soak({
    seed: 29,
    minutes: 5,
    mostFaults: 1,
    only: ['broker-killed'],
    holdShare: 0.3,
    // Other tests run beside this one.
    sessionsMayEnd: true,
    log: (line) => {
      t.diagnostic(line);
    },
  });
  const problems = result.phases.flatMap((phase) => phase.problems);
  assert.deepEqual(problems, []);
  assert.ok(isClean(result));
  assert.equal(result.phases.length, 1);
});
