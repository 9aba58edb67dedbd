import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { programs } from '../harness/programs.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { readText, rulesFile, testsFile, type Rule } from './monitoring-files.ts';

/** Each alert is changed in every way below, and its tests have to notice. */

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

/** Writes the rules with one alert only, which is changed or removed, and its tests; the path of the tests. */
function writeTests(folder: string, alert: string, changed: Rule | undefined): string {
  mkdirSync(folder);
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
  return join(folder, 'tests.yaml');
}

/** Those of the files whose tests pass. They are run at once, because the program takes longer to start than for most. */
function passing(promtool: string, files: Iterable<string>): Set<string> {
  const { stdout } = spawnSync(promtool, ['test', 'rules', ...files], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return new Set(
    [...stdout.matchAll(/^Unit Testing: +(.*)\n +SUCCESS$/gm)].map(([, file = '']) => file),
  );
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
      /** What was changed, by the file of its tests; undefined: nothing. */
      const variants = new Map<string, string | undefined>();
      const add = (alert: string, rule: Rule | undefined, what: string | undefined): void => {
        variants.set(writeTests(join(folder, String(variants.size)), alert, rule), what);
      };
      for (const rule of alerts) {
        const { alert = '', expr } = rule;
        add(alert, rule, undefined);
        add(alert, undefined, `${alert}: removed`);
        for (const other of mutations(expr))
          if (other !== expr) add(alert, { ...rule, expr: other }, `${alert}: ${other}`);
      }
      const green = passing(promtool, variants.keys());
      const wrong = [...variants].filter(
        ([file, what]) => green.has(file) !== (what === undefined),
      );
      assert.deepEqual(
        wrong.map(([file, what]) => what ?? `${file}, as it is`),
        [],
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
