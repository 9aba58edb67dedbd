import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { parse } from 'yaml';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { alertNames, pathOf, readRules, readText, rulesFile } from './monitoring-files.ts';

const testsFile = 'deploy/monitoring/rules.test.yaml';

testNeeding(
  [programs.promtool],
  'every alert fires on its series and not beside it',
  (promtool) => {
    execFileSync(promtool, ['check', 'rules', '--lint-fatal', pathOf(rulesFile)]);
    execFileSync(promtool, ['test', 'rules', pathOf(testsFile)]);
  },
);

interface RuleTest {
  readonly promql_expr_test?: readonly Expectation[];
}

interface Expectation {
  readonly expr: string;
  readonly exp_samples?: readonly { readonly labels: string }[];
}

test('each alert has a test in which nothing fires at first, and then only that alert', () => {
  const { tests } = parse(readText(testsFile)) as { tests: readonly RuleTest[] };
  const complete = tests.flatMap(({ promql_expr_test: expectations = [] }) => {
    const [quiet, firing] = expectations;
    const all = 'ALERTS{alertstate="firing"}';
    if (quiet?.expr !== all || quiet.exp_samples !== undefined || firing?.expr !== all) return [];
    return (firing.exp_samples ?? []).map(({ labels }) => /alertname="(\w+)"/.exec(labels)?.[1]);
  });
  assert.deepEqual([...new Set(complete)].sort(), alertNames());
});

const runbook = readText('docs/runbook.md');
const sections = runbook.split(/^## /m).slice(2);

test('the runbook has a section for each alert, and none for an alert that does not exist', () => {
  const titles = sections.map((section) => section.split('\n')[0] ?? '');
  assert.deepEqual(titles.toSorted(), alertNames());
});

test('each section says what it means, what users feel, where to look, what to do, and when it is nothing', () => {
  for (const section of sections) {
    const [title = '', , meaning = ''] = section.split('\n');
    const severity = readRules().find(({ alert }) => alert === title)?.labels?.['severity'] ?? '';
    assert.match(severity, /^(page|ticket)$/, title);
    assert.ok(meaning.startsWith(`\`${severity}\`. `), title);
    const parts = [...section.matchAll(/^\*\*(.+?):\*\* \S/gm)].map(([, part]) => part);
    assert.deepEqual(parts, ['Users feel', 'Look at', 'Do', 'False alarm'], title);
  }
});

test('each alert leads to its section, and says in one sentence what is the matter', () => {
  for (const { alert, annotations } of readRules()) {
    if (alert === undefined) continue;
    const docs = '{{ with $externalLabels.postrider_docs }}{{ . }}{{ else }}docs{{ end }}';
    assert.equal(annotations?.['runbook_url'], `${docs}/runbook.md#${alert.toLowerCase()}`);
    assert.match(annotations['summary'] ?? '', /^[A-Z{].*\.({{ end }})?$/, alert);
  }
});

test('every recorded series that the runbook names exists', () => {
  const recorded = new Set(readRules().map(({ record }) => record));
  const named = runbook.match(/\bpostrider:[\w:]+/g) ?? [];
  assert.ok(named.length > 0);
  for (const name of named) assert.ok(recorded.has(name), name);
});
