import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import type { Job, JobResult } from './job.ts';
import { jobsToRepeat } from './pool.ts';
import { brokerFiles, brokerJobs, slowest, unitFiles, unitJobs } from './tests.ts';

const jobs = [...unitJobs(unitFiles()), ...brokerJobs(brokerFiles())];

test('every test file runs once', () => {
  const files = jobs.flatMap((job) => job.files);
  assert.deepEqual([...files].sort(), [...unitFiles(), ...brokerFiles()].sort());
});

test('what takes longest begins first, and is still there', () => {
  assert.equal(brokerJobs(brokerFiles())[0]?.name, slowest[0]);
  assert.deepEqual(
    slowest.filter((name) => !existsSync(name)),
    [],
  );
});

test('up to three jobs on a broker that failed run once more, and none if anything else failed', () => {
  const failed = (kind: Job['kind'], ...names: string[]): JobResult[] =>
    names.map((name) => ({
      job: { name, kind, args: [name], files: [name] },
      passed: false,
      startedS: 0,
      wallS: 1,
      cpuS: 1,
      report: null,
      output: '',
    }));
  const repeated = (results: readonly JobResult[]): string[] =>
    jobsToRepeat(results).map(({ name }) => name);
  const [a, b, c] = failed('broker', 'a', 'b', 'c');
  assert.ok(a && b && c);
  assert.deepEqual(repeated([a, { ...b, passed: true }, c]), ['a', 'c']);
  assert.deepEqual(repeated([a, b, c, ...failed('broker', 'd')]), []);
  assert.deepEqual(repeated([a, ...failed('processor', 'unit')]), []);
});
