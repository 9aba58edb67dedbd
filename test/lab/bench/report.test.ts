import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { format } from 'prettier';
import { withSection } from '../../harness/recorded-page.ts';
import { summarize, type BenchResult } from './measure.ts';
import { benchNames, sectionOf } from './report.ts';

const page = readFileSync(new URL('../../../docs/performance.md', import.meta.url), 'utf8');
const result: BenchResult = {
  name: 'decode: CPU time of a call, as a share of JSON.parse',
  required: 'at most 1.3',
  ...summarize([1.1, 1.25, 1.2]),
  passed: true,
  absolutes: { 'JSON.parse, CPU µs a call': '1.51' },
};
const table = {
  title: 'deliveries a CPU second',
  columns: ['endpoint', 'Bento', 'it'],
  rows: [['http, 20 ms', '9,000', '7']],
};
const when = { date: '2026-01-02', machine: '2 × a processor, 4 GB', node: 'v24.0.0' };

test('the page has one section for each benchmark, in order, that says how it was measured', () => {
  const sections = page.split('\n## ').slice(1);
  const ofBenches = sections.filter((each) => each.includes('npm run bench -- '));
  assert.deepEqual(
    ofBenches.map((each) => each.split('\n')[0]),
    benchNames,
  );
  for (const section of ofBenches) {
    const [name = ''] = section.split('\n');
    if (section.includes('\nNot recorded yet ')) continue;
    assert.match(section, new RegExp(`^Recorded .*\`npm run bench -- ${name}\\b`, 'm'), name);
    assert.match(section, /^- Measured: .*\d/m, name);
    assert.match(section, /^- Required: /m, name);
  }
});

test('a section says the bar, the median, the spread, the samples, the machine and the command', () => {
  assert.equal(
    sectionOf('decode', [result, { ...result, ...summarize([0.99981]), passed: false }], when),
    `Recorded on 2026-01-02 with \`npm run bench -- decode --report\`: 2 × a processor, 4 GB, Node.js v24.0.0.

### Decode: CPU time of a call, as a share of JSON.parse

- Measured: median 1.2 of 3 samples, 1.1 to 1.25
- Required: at most 1.3
- JSON.parse, CPU µs a call: 1.51

### Decode: CPU time of a call, as a share of JSON.parse

- Measured: 0.9998 (1 sample)
- Required: at most 1.3 (**missed**)
- JSON.parse, CPU µs a call: 1.51`,
  );
});

test('variables that were set stand before the command', () => {
  const section = sectionOf('decode', [result], when, "BENCH_ATTEMPTS='5' ");
  assert.match(section, /with `BENCH_ATTEMPTS='5' npm run bench -- decode --report`/);
});

test('a table comes after the list, with names to the left and figures to the right', () => {
  const section = sectionOf('peers', [{ ...result, tables: [table] }], when);
  assert.match(
    section,
    /- JSON.parse, CPU µs a call: 1.51\n\nDeliveries a CPU second:\n\n\| endpoint/,
  );
  assert.ok(
    section.endsWith(`| endpoint    | Bento |  it |
| ----------- | ----: | --: |
| http, 20 ms | 9,000 |   7 |`),
    section,
  );
});

test('notes come after the tables', () => {
  const section = sectionOf('growth', [{ ...result, tables: [table], notes: ['Why.'] }], when);
  assert.ok(section.endsWith(' |\n\nWhy.'), section);
});

test('a run of one benchmark changes its section alone, and stays formatted', async () => {
  for (const name of benchNames) {
    const changed = withSection(
      page,
      benchNames,
      name,
      sectionOf(name, [{ ...result, tables: [table] }], when),
    );
    const others = (text: string): string[] =>
      text.split('\n## ').filter((each) => !each.startsWith(`${name}\n`));
    assert.deepEqual(
      others(changed).map((each) => each.trimEnd()),
      others(page).map((each) => each.trimEnd()),
    );
    assert.match(changed, new RegExp(`\n## ${name}\n\nRecorded on 2026-01-02 `));
    if (name === benchNames[0])
      assert.equal(await format(changed, { parser: 'markdown', printWidth: 100 }), changed);
  }
});
