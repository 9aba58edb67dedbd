import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { fuzzApart } from './engine/apart.ts';
import { reportSection } from './report.ts';

const planted = new URL('./planted.child.ts', import.meta.url);

test('coverage leads to a bug behind four comparisons, and the input is shrunk', async () => {
  const limits = { seed: 1, durationMs: 60_000, leastRuns: 0, mostRuns: 60_000 };
  const { findings } = await fuzzApart(planted, limits);
  const [finding] = findings;
  assert.equal(finding?.kind, 'failure');
  assert.match(finding.what, /TypeError: found/);
  assert.equal(finding.input.length, 4);
});

for (const [what, args, sentence] of [
  [
    'a target that is none',
    ['timestamp'],
    /there is no target timestamp; did you mean timestamps\?/,
  ],
  ['no time', ['--minutes', '0'], /--minutes is '0'; allowed: a number above 0, up to 1440/],
  ['a seed that is no number', ['--seed', 'x'], /--seed is 'x'; allowed: a whole number from 0/],
  ['an option that is none', ['--fast'], /Unknown option '--fast'/],
] as const)
  test(`npm run fuzz refuses ${what} with a sentence`, () => {
    const main = fileURLToPath(new URL('./main.ts', import.meta.url));
    const { status, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' });
    assert.equal(status, 2);
    assert.match(stderr, sentence);
    assert.doesNotMatch(stderr, / {4}at /);
  });

test('a report has a row for each target and a line for each flood', () => {
  const section = reportSection({
    when: { date: '2026-01-31', machine: 'm', node: 'v24' },
    ...{ minutes: 10, seed: 1, floods: ['a flood.'] },
    rows: [{ name: 'calls', runs: 1_234, blocks: 5, findings: 0 }],
  });
  assert.match(
    section,
    /^Recorded on 2026-01-31 .*--minutes 10 --seed 1 --report`: m, Node.js v24\./,
  );
  assert.match(section, /\n\| calls +\| +1,234 \| +5 \| +0 \|\n\n- a flood\.$/);
});
