import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
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
