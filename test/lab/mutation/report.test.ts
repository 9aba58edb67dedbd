import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding } from './find.ts';
import { defectMutants } from './known-defects.ts';
import { counted, sectionOf } from './report.ts';

const [defect] = defectMutants();
assert.ok(defect);
const mutant = { ...defect, file: 'src/a.ts', id: 'src/a.ts f: a → b' };
const findings: Finding[] = [
  { mutant: defect, by: 'unit tests', what: 'test/a.test.ts' },
  { mutant, by: 'simulation', what: 'npm run simulate', hung: true },
  { mutant, by: 'nothing' },
];
const facts = { command: 'npm run mutate', candidates: 6_000, files: 70 };
const where = { date: '2026-11-24', machine: '2 × EPYC', node: 'v24' };

test('the share is of what was planted, and a survivor without a reason counts against it', () => {
  const { changing, byUnitTests, bySimulation, unfound, share } = counted(findings);
  assert.deepEqual([changing, byUnitTests, bySimulation, unfound], [3, 1, 1, 1]);
  assert.equal(share, 2 / 3);
});

test('the page names every survivor, and says so where nobody knows why', () => {
  const section = sectionOf(findings, facts, where);
  assert.match(section, /66\.7 % of 3 planted bugs were found/);
  assert.match(section, /- `src\/a\.ts`, `f: a → b`: No reason is known yet\./);
  assert.match(section, /found by unit tests\./);
});
