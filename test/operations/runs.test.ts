import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run, RunEnd, Work } from '../../src/operations/operations.ts';
import { Runs } from '../../src/operations/runs.ts';
import { PostriderError } from '../../src/errors.ts';
import { SimulatedClock } from '../delivery/simulated-clock.ts';

/** Work that the test does. */
function held(): { work: Work; run: () => Run; end: (end: RunEnd) => void } {
  const ending = Promise.withResolvers<RunEnd>();
  let begun: Run | undefined;
  const work: Work = (run) => {
    begun = run;
    run.signal.addEventListener('abort', () => {
      ending.reject(new PostriderError('stopped', 'stopped before all were counted'));
    });
    return ending.promise;
  };
  return { work, run: () => begun ?? assert.fail('it has not begun'), end: ending.resolve };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a count takes as long as it takes, while somebody asks for it', async () => {
  const clock = new SimulatedClock();
  const runs = new Runs(clock);
  const counting = held();
  const { id, state } = runs.count(counting.work);
  assert.equal(state, 'counting');
  for (let second = 1; second <= 60; second += 1) {
    await clock.pass(1_000);
    counting.run().onSent();
    assert.deepEqual(runs.find(id), { id, state: 'counting', found: second, sent: 0 });
  }
  counting.end({ detail: '3 events left out' });
  await turn();
  const done = { id, state: 'done', found: 60, sent: 0, detail: '3 events left out' };
  assert.deepEqual(runs.find(id), done);
});

test('a count that nobody asks for ends, and makes room for another one', async () => {
  const clock = new SimulatedClock();
  const runs = new Runs(clock);
  const [first, second] = [held(), held()];
  const { id } = runs.count(first.work);
  const other = runs.count(second.work);
  assert.throws(() => runs.count(held().work), { status: 503, message: /^Several are being/ });
  for (let second = 1; second <= 20; second += 1) {
    await clock.pass(1_000);
    runs.find(other.id);
  }
  assert.equal(first.run().signal.aborted, true);
  assert.equal(second.run().signal.aborted, false);
  assert.deepEqual(runs.find(id), {
    id,
    state: 'failed',
    found: 0,
    sent: 0,
    detail: 'stopped before all were counted',
  });
  runs.count(held().work);
});

test('what is sent goes on though nobody asks for it', async () => {
  const clock = new SimulatedClock();
  const runs = new Runs(clock);
  const sending = held();
  const ends: string[] = [];
  const { id } = runs.start('entry', sending.work, ({ state, sent }) =>
    ends.push(`${state} ${sent}`),
  );
  await clock.pass(3_600_000);
  sending.run().onSent();
  assert.deepEqual(runs.find(id), { id, state: 'running', found: 1, sent: 1 });
  sending.end({});
  await turn();
  assert.deepEqual(ends, ['done 1']);
});
