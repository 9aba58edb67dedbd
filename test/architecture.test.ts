import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { cruise, type ICruiseResult, type IForbiddenRuleType } from 'dependency-cruiser';

/** Who may import whom, as in docs/design.md. `$1` is the importing file's own folder. */

const stages =
  'gateway|console|api|bulk-import|router|delivery|attempts|status|notices|audience|deletion|dead-letter';
/** They answer questions about what the others wrote, and send letters again. */
const readers = 'explain|status|attempts|dead-letter|notices';

function forbid(name: string, from: string, to: string, toNot?: string): IForbiddenRuleType {
  return {
    name,
    severity: 'error',
    from: { path: from },
    to: { path: to, ...(toNot === undefined ? {} : { pathNot: toNot }) },
  };
}

const rules: IForbiddenRuleType[] = [
  forbid(
    'event is pure',
    '^src/event/',
    '^(src/|node:)',
    '^src/(event/|errors|duration|recurring-texts)',
  ),
  forbid(
    'kafka and ops know nothing of events',
    '^src/(kafka|ops)/',
    '^src/',
    '^src/(kafka|ops)/|^src/(errors|duration|topology|printable|recurring-texts)',
  ),
  forbid(
    'what HTTP APIs share knows no stage',
    '^src/http-api/',
    '^src/',
    '^src/(http-api|event|resources|kafka|ops)/|^src/(errors|duration)',
  ),
  forbid(
    'what operators have done is done with the readers alone',
    '^src/operations/',
    `^src/(${stages}|cli|dev|settings)/`,
    '^src/(dead-letter|deletion|attempts)/',
  ),
  forbid(
    'resources know no stage',
    '^src/resources/',
    `^src/(${stages}|http-api|operations|cli|dev|settings)/`,
  ),
  forbid(
    'schemas know events, and no stage',
    '^src/schemas/',
    '^src/',
    '^src/(schemas|event|ops)/|^src/errors',
  ),
  forbid(
    'stages never import one another',
    `^src/(?!console/|api/)(${stages})/`,
    `^src/(${stages})/`,
    '^src/$1/',
  ),
  forbid(
    'the console imports no stage but the readers',
    '^src/console/',
    `^src/(${stages})/`,
    `^src/(console|${readers})/`,
  ),
  forbid(
    'the API imports no stage but the reader of states',
    '^src/api/',
    `^src/(${stages})/`,
    '^src/(api|status)/',
  ),
  forbid('stages get settings as values', `^src/(${stages}|explain)/`, '^src/(settings|cli|dev)/'),
  forbid(
    'explain knows all stages, and no stage explain but the console',
    '^src/(?!explain/|cli/|console/)',
    '^src/explain/',
  ),
  forbid('nothing imports cli', '^src/(?!cli/)', '^src/cli/'),
  forbid(
    'the client knows event only, and DEBUG of the environment',
    '^src/client/(?!kafka)',
    '^src/',
    '^src/(client|event)/|^src/environment',
  ),
  forbid(
    'the environment is for settings, commands and DEBUG of the client',
    '^src/(?!settings/|cli/|client/warnings)',
    '^src/environment',
  ),
  forbid(
    'the client knows of kafka the producer, in one file',
    '^src/client/kafka',
    '^src/',
    '^src/(client|event)/|^src/kafka/(produce/producer|producing-client)|^src/ops/log',
  ),
  forbid(
    'nothing of the server imports the client',
    '^src/(?!client/|dev/receiver)',
    '^src/client/',
  ),
  forbid(
    'a receiver, as customers have, verifies with the client',
    '^src/dev/receiver',
    '^src/client/(?!verify)',
  ),
  forbid('kafkajs lives in kafka', '^src/(?!kafka/)', '(^|/)node_modules/kafkajs/'),
  { name: 'no cycles', severity: 'error', from: {}, to: { circular: true } },
];

/** Broken on purpose: if this one is not reported, the silence of the others means nothing. */
const canary = forbid('canary', '^src/cli/run', '^src/errors');

const { output } = await cruise(['src'], {
  ruleSet: { forbidden: [canary, ...rules] },
  validate: true,
  tsPreCompilationDeps: true,
  doNotFollow: { path: 'node_modules' },
  // What other tests build.
  exclude: { path: '^src/client/dist/' },
});
const { modules, summary } = output as ICruiseResult;
const sources = modules.filter(({ source }) => source.startsWith('src/'));

const violations = summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`);

test('the import rules see the sources and report, so that their silence means something', () => {
  assert.ok(sources.length > 100, `saw ${sources.length} modules`);
  assert.ok(violations.includes('canary: src/cli/run.ts → src/errors.ts'));
});

test('every import follows the direction of the flow', () => {
  assert.deepEqual(
    violations.filter((violation) => !violation.startsWith('canary')),
    [],
  );
});

/** It shows programs of others. */
const shownPrograms = 'src/console/web/screens/manage/receivers.ts';

test('process.env is read in one file', () => {
  const readers = sources
    .map(({ source }) => source)
    .filter((source) => source !== shownPrograms)
    .filter((source) => readFileSync(source, 'utf8').includes('process.env'));
  assert.deepEqual(readers, ['src/environment.ts']);
});

/** A file below this length that only one file of its folder imports is a part of that file's idea. */
const leastLines = 60;

/** Such a file, unless it has a test of its own: then it is a decision that is read by itself. `.mjs` starts a program. */
function belongsElsewhere({ source, dependents }: (typeof sources)[number]): boolean {
  const [importer] = dependents;
  if (importer === undefined || dependents.length > 1) return false;
  if (dirname(importer) !== dirname(source) || importer.endsWith('.mjs')) return false;
  if (readFileSync(source, 'utf8').trimEnd().split('\n').length >= leastLines) return false;
  const tested = source.replace(/^src/, 'test').replace(/\.tsx?$/, '');
  return !['.test.ts', '.kafka.ts'].some((ending) => existsSync(tested + ending));
}

test('a short file that only one other of its folder uses is a part of that file', () => {
  const small = sources.filter(belongsElsewhere).map(({ source }) => source);
  assert.deepEqual(small, []);
});

/** A docstring that begins so is a fragment, which needs its neighbors to be understood. */
const fragment =
  /\/\*\*[\s*]*(?:Of|What|Where|As|Those|Who|Whose|Whoever|Which|When|How|Whether)\b[^\n]*/g;

test('docstrings are sentences with a subject', () => {
  const fragments = sources.flatMap(({ source }) =>
    (readFileSync(source, 'utf8').match(fragment) ?? []).map((text) => `${source}: ${text}`),
  );
  assert.deepEqual(fragments, []);
});
