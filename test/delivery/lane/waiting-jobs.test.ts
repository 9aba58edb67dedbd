import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { Job, newClaim } from '../../../src/delivery/job.ts';
import { WaitingJobs } from '../../../src/delivery/lane/waiting-jobs.ts';

/** As far as the queue looks at one. */
function jobOf({
  user,
  hasReturned = false,
  isShortOfTime = false,
  urgent = false,
  attempts = 0,
}: Kind): Job {
  const claim = newClaim({ topic: 'delivery', partition: 0 }, false);
  const job = Object.create(Job.prototype) as Job;
  const links = { next: undefined, nextInBucket: undefined, followers: undefined };
  return Object.assign(job, {
    user,
    hasReturned,
    isShortOfTime,
    urgent,
    claim,
    envelope: { attempts },
    ...links,
  });
}

interface Kind {
  readonly user?: number | undefined;
  readonly hasReturned?: boolean;
  readonly isShortOfTime?: boolean;
  readonly urgent?: boolean;
  readonly attempts?: number;
}

const step = fc.oneof(
  fc.record({
    kind: fc.constant('add' as const),
    user: fc.option(fc.nat(4), { nil: undefined }),
    hasReturned: fc.boolean(),
    isShortOfTime: fc.boolean(),
    urgent: fc.boolean(),
  }),
  fc.record({
    kind: fc.constantFrom(
      'start' as const,
      'end' as const,
      'put back' as const,
      'review' as const,
      'move' as const,
    ),
  }),
);

test('more jobs of one user may be taken back than a call may have arguments', () => {
  const waiting = new WaitingJobs();
  waiting.add(jobOf({ user: 1 }));
  assert.ok(waiting.next('any'));
  for (let i = 0; i < 200_000; i += 1) waiting.add(jobOf({ user: 1 }));
  assert.equal(waiting.takeAll().length, 200_000);
  assert.equal(waiting.size, 0);
});

test('what has no time left goes before all others, also where no retry may start', () => {
  for (const turn of ['any', 'fresh-before', 'no-retry'] as const) {
    const waiting = new WaitingJobs();
    const urgent = [1, 2].map((attempts) => jobOf({ hasReturned: true, urgent: true, attempts }));
    waiting.add(jobOf({}));
    waiting.add(jobOf({ hasReturned: true, attempts: 1 }));
    for (const job of urgent) waiting.add(job);
    assert.ok(waiting.hasUrgent);
    assert.deepEqual([waiting.next(turn), waiting.next(turn)], urgent, turn);
    assert.ok(!waiting.hasUrgent);
  }
});

test('what is short of time goes before what has come back, where that may start', () => {
  const waiting = new WaitingJobs();
  const [fresh, returned, short] = [
    jobOf({}),
    jobOf({ hasReturned: true, attempts: 1 }),
    jobOf({ hasReturned: true, isShortOfTime: true, attempts: 1 }),
  ];
  for (const job of [fresh, returned, short]) waiting.add(job);
  assert.equal(waiting.next('no-retry'), fresh);
  assert.equal(waiting.next('any'), short);
  assert.equal(waiting.next('any'), returned);
});

test('what waits is counted, and comes out once, whatever happens to it meanwhile', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let waiting = new WaitingJobs();
      const inside = new Set<Job>();
      const started: { readonly job: Job; readonly from: WaitingJobs }[] = [];
      const start = (): void => {
        const job = waiting.next('any');
        if (job === undefined) return;
        assert.ok(inside.delete(job), 'came out twice');
        started.push({ job, from: waiting });
      };
      const end = (): void => {
        const ended = started.shift();
        ended?.from.release(ended.job);
      };
      const takeAll = (): Job[] => {
        const taken = waiting.takeAll();
        assert.deepEqual([waiting.size, waiting.returned, waiting.shortOfTime], [0, 0, 0]);
        assert.deepEqual(new Set(taken), inside);
        assert.equal(taken.length, inside.size);
        return taken;
      };
      for (const each of steps) {
        if (each.kind === 'start') start();
        else if (each.kind === 'end') end();
        else if (each.kind === 'put back') {
          if (started.at(-1)?.from !== waiting) continue;
          const { job } = started.pop() ?? assert.fail();
          waiting.putBack(job);
          inside.add(job);
        } else if (each.kind === 'add') {
          const job = jobOf(each);
          waiting.add(job);
          inside.add(job);
        } else {
          const taken = takeAll();
          // To another lane of the destination, while what has started belongs to the former one.
          if (each.kind === 'move') waiting = new WaitingJobs();
          for (const job of taken) waiting.add(job);
        }
        assert.equal(waiting.size, inside.size);
      }
      for (let left = inside.size + started.length; left > 0; left--) {
        start();
        end();
      }
      assert.deepEqual([inside.size, waiting.returned, waiting.shortOfTime], [0, 0, 0]);
    }),
  );
});
