import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isClean, soak } from './soak.ts';

/** A short soak; `npm run soak` runs all faults, for as long as they last in life. */
test('a process, a broker and the network fail one after the other, and no event is lost', async (t) => {
  const result = await soak({
    seed: 29,
    minutes: 5,
    mostFaults: 3,
    only: ['role-hangs', 'broker-killed', 'kafka-network-half-open'],
    holdShare: 0.4,
    log: (line) => {
      t.diagnostic(line);
    },
  });
  const problems = result.phases.flatMap((phase) => phase.problems);
  assert.deepEqual(problems, []);
  assert.ok(isClean(result));
  assert.equal(result.phases.length, 3);
});
