import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { programs } from '../harness/programs.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { readText, rulesFile, testsFile, type Rule } from './monitoring-files.ts';

/**
 * Each alert is changed in every way below, and its tests have to notice. It needs no broker; but it takes a
 * minute, which is too long for the unit tests.
 */

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

interface RuleTest {
  readonly promql_expr_test?: readonly object[];
  readonly alert_rule_test?: readonly object[];
}

const rules = parse(readText(rulesFile)) as RuleFile;
const { tests } = parse(readText(testsFile), { maxAliasCount: -1 }) as {
  readonly tests: readonly RuleTest[];
};
const alerts = rules.groups.flatMap((group) => group.rules.filter(({ alert }) => alert));

const recorded = new Map(
  rules.groups.flatMap((group) =>
    group.rules.map(({ record = '', expr }) => [record, expr] as const),
  ),
);

/** What stands before a number, or a sum or product that begins with one. */
const threshold = /([<>]=?) (?=[\d(])/g;

/** Expressions that say something else. */
function* mutations(expr: string): Generator<string> {
  yield expr.replaceAll(/(>=?) 0(?![\d.])/g, '$1 1e9').replaceAll(threshold, '$1 20 * ');
  // From nothing on there is no smaller threshold.
  if (/[<>]=? [1-9]/.test(expr)) yield expr.replaceAll(threshold, '$1 0.05 * ');
  if (/== [01]/.test(expr)) yield expr.replaceAll(/== [01]/g, '== 7');
  for (const { 0: found, index } of expr.matchAll(/=~?"/g)) {
    const at = index + found.length;
    yield `${expr.slice(0, at)}nobody-${expr.slice(at)}`;
  }
}

function passes(
  promtool: string,
  folder: string,
  alert: string,
  changed: Rule | undefined,
): boolean {
  const groups = rules.groups.map(({ name, rules: own }) => ({
    name,
    rules: own.flatMap((rule) => {
      if (rule.alert === undefined) return isNeeded(rule, changed?.expr ?? '') ? [rule] : [];
      return rule.alert === alert && changed !== undefined ? [changed] : [];
    }),
  }));
  const own = tests
    .filter(
      (each) =>
        JSON.stringify(each).includes(`"${alert}"`) ||
        JSON.stringify(each).includes(`\\"${alert}\\"`),
    )
    .map((each) => onlyOf(each, alert));
  writeFileSync(join(folder, 'rules.yaml'), stringify({ groups }));
  writeFileSync(
    join(folder, 'tests.yaml'),
    stringify(
      { rule_files: ['rules.yaml'], evaluation_interval: '2m', tests: own },
      { aliasDuplicateObjects: false },
    ),
  );
  return spawnSync(promtool, ['test', 'rules', join(folder, 'tests.yaml')]).status === 0;
}

/** Whether an expression goes by the recorded series, itself or by way of another one.  */
function isNeeded({ record = '' }: Rule, expr: string): boolean {
  const names = expr.match(/\bpostrider:[\w:]+/g) ?? [];
  return names.some((name) => {
    if (name === record) return true;
    const other = recorded.get(name);
    return other !== undefined && isNeeded({ record, expr: other }, other);
  });
}

function isOfAlerts(expectation: object): boolean {
  return 'expr' in expectation && String(expectation.expr).startsWith('ALERTS');
}

/** Without what it says of other alerts, which are not among the rules. */
function onlyOf(each: RuleTest, alert: string): RuleTest {
  const samples = (expectation: object): object => {
    if (!('exp_samples' in expectation)) return expectation;
    const all = expectation.exp_samples as readonly { readonly labels: string }[];
    const isOther = ({ labels }: { labels: string }): boolean =>
      labels.startsWith('ALERTS') && !labels.includes(`"${alert}"`);
    return { ...expectation, exp_samples: all.filter((sample) => !isOther(sample)) };
  };
  const { promql_expr_test: expectations = [], alert_rule_test: told = [] } = each;
  return {
    ...each,
    promql_expr_test: expectations.filter(isOfAlerts).map(samples),
    alert_rule_test: told.filter((one) => 'alertname' in one && one.alertname === alert),
  };
}

testNeeding(
  [programs.promtool],
  'no alert can be changed without a test that notices',
  (promtool) => {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-mutations-'));
    try {
      const unnoticed: string[] = [];
      for (const rule of alerts) {
        const { alert = '', expr } = rule;
        assert.ok(passes(promtool, folder, alert, rule), `${alert} as it is`);
        const changes = [
          undefined,
          ...[...mutations(expr)]
            .filter((other) => other !== expr)
            .map((other) => ({ ...rule, expr: other })),
        ];
        for (const changed of changes)
          if (passes(promtool, folder, alert, changed))
            unnoticed.push(`${alert}: ${changed?.expr ?? 'removed'}`);
      }
      assert.deepEqual(unnoticed, []);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
