import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { parse } from 'yaml';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { failingAlertAfterMs, mostFailingShown } from '../../src/delivery/metrics.ts';
import { createTopology } from '../../src/topology.ts';
import {
  alertNames,
  pathOf,
  readRules,
  readText,
  rulesFile,
  testsFile,
} from './monitoring-files.ts';

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

test('each section says what it means, what customers notice, where to look, what to do and when to escalate', () => {
  for (const section of sections) {
    const [title = '', , meaning = ''] = section.split('\n');
    const severity = readRules().find(({ alert }) => alert === title)?.labels?.['severity'] ?? '';
    assert.match(severity, /^(page|ticket)$/, title);
    assert.ok(meaning.startsWith(`\`${severity}\`. `), title);
    const parts = [...section.matchAll(/^\*\*(.+?):\*\* ?\S?/gm)];
    const names = parts.map(([, name]) => name);
    assert.deepEqual(names.slice(0, 4), ['Customers notice', 'Look at', 'Do', 'Escalate'], title);
    // Whether the alert can be a false one.
    assert.ok(names.length === 4 || (names.length === 5 && names[4] === 'Not a problem'), title);
    // Text, or a list or commands below it.
    for (const { 0: head, index } of parts)
      assert.match(section.slice(index + head.length - 1), /^\S|^\s+[-`]/, title);
  }
});

test('each section has something to type', () => {
  for (const section of sections) assert.match(section, /^ *```(?:sh|promql)$/m, section);
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

test('the alert for records near their retention goes by what the topics keep', () => {
  const topology = createTopology({
    prefix: '',
    partitions: 1,
    replicationFactor: 1,
    retryTiersMs: [60_000],
    extraIngestTopics: [],
  });
  const { topics } = topology;
  const read = [topics.ingest, topics.ingestAudience, topics.delivery, topology.retryTopic(60_000)];
  const kept = [...topology.all, topology.dedicatedTopic('crm')]
    .filter(({ name }) => read.includes(name) || topology.dedicatedDestination(name) === 'crm')
    .map(({ config }) => Number(config['retention.ms']));
  assert.equal(kept.length, 5);
  const { expr = '' } =
    readRules().find(({ alert }) => alert === 'PostriderRecordsNearRetention') ?? {};
  const days = Number(/> (\d+) \* 86400 \/ 4$/m.exec(expr)?.[1]);
  for (const retentionMs of kept) assert.equal(retentionMs, days * 86_400_000);
});

test('the alerts for failing destinations go by which of them a worker shows', () => {
  const expressionOf = (name: string): string =>
    readRules()
      .find(({ alert }) => alert === name)
      ?.expr.trim() ?? '';
  assert.match(
    expressionOf('PostriderDestinationFailing'),
    new RegExp(`> ${failingAlertAfterMs / 1_000}$`),
  );
  assert.match(
    expressionOf('PostriderManyDestinationsFailing'),
    new RegExp(`> ${mostFailingShown}$`),
  );
});
