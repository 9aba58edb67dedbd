import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { JobsByUser } from '../../../src/delivery/lane/job-links.ts';
import { Job } from '../../../src/delivery/job.ts';
import { oldGarbageBytes } from '../../harness/old-garbage.ts';

/** As far as the table looks at one. */
function jobOf(user: number): Job {
  const job = Object.create(Job.prototype) as Job;
  return Object.assign(job, { user, nextInBucket: undefined });
}

describe('the jobs of users', () => {
  test('are those that a map would hold', () => {
    const user = fc.oneof(fc.nat(40), fc.nat(2 ** 30 - 1));
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('add', 'remove'), user)), (steps) => {
        const table = new JobsByUser();
        const map = new Map<number, Job>();
        for (const [step, of] of steps) {
          if (step === 'remove') {
            table.remove(of);
            map.delete(of);
          } else if (!map.has(of)) {
            const job = jobOf(of);
            table.add(of, job);
            map.set(of, job);
          }
          assert.equal(table.get(of), map.get(of));
        }
        assert.deepEqual(new Set(table), new Set(map.values()));
        for (const each of map.keys()) assert.equal(table.get(each), map.get(each));
      }),
    );
  });

  test('are found without a look at many others, however many there are', () => {
    const users = 4_096;
    const table = new JobsByUser();
    let looks = 0;
    for (let user = 0; user < users; user += 1) {
      const get = (): number => {
        looks += 1;
        return user;
      };
      table.add(user, Object.defineProperty(jobOf(user), 'user', { get }));
    }
    looks = 0;
    for (let user = 0; user < users; user += 1) table.get(user);
    // Numbers that follow one another have a place each.
    assert.ok(looks <= 1.1 * users, `${looks} looks`);
  });

  test('are garbage for a young collection once they are removed', () => {
    const table = new JobsByUser();
    const jobs: Job[] = [];
    let user = 0;
    const grown = oldGarbageBytes(() => {
      for (let count = 0; count < 1_000; count += 1) {
        const job = Object.assign(jobOf(user), { body: new Array(100).fill(user) });
        table.add(user, job);
        jobs.push(job);
        user += 1;
        if (jobs.length > 20) table.remove(jobs.shift()?.user ?? NaN);
      }
    });
    // All that came would be 40 MB; a Map keeps them.
    assert.ok(grown < 2_000_000, `${grown} bytes`);
  });
});
