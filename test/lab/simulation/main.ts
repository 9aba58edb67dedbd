import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { CommandLine } from '../../harness/command-line.ts';
import { neighbourRule } from './invariants.ts';
import { neighboursHurt } from './neighbours.ts';
import { runSeeds, type SeedRun } from './run-seeds.ts';
import { writeSection } from './report-section.ts';
import { makeScenario } from './make-scenario.ts';
import type { Scenario } from './scenario.ts';
import { shrink } from './shrink.ts';
import { simulate } from './simulate.ts';

/**
 * `npm run simulate -- [--seeds N] [--from N] [--jobs N] [--report]`: the whole pipeline in simulated time, a
 * scenario for each seed. `--seed N` or `--scenario FILE` runs one and tells its history. Ends with 1 if a
 * promise is broken, after shortening the first scenario that breaks one.
 */
const commandLine = new CommandLine(
  'simulate',
  '[--seeds N] [--from N] [--jobs N] [--report] | --seed N | --scenario FILE',
);
const { values } = commandLine.read({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string' },
    jobs: { type: 'string' },
    seed: { type: 'string' },
    scenario: { type: 'string' },
    report: { type: 'boolean' },
  },
});
const mostShrinkRuns = 80;
const mostTold = 80;

const { seed, scenario, ...ofMany } = values;
if (seed !== undefined || scenario !== undefined) {
  const others = [...Object.keys(ofMany), ...(seed === undefined ? [] : ['scenario'])];
  const other = others.find((name) => name in values);
  if (other !== undefined)
    commandLine.refuse(
      `--${seed === undefined ? 'scenario' : 'seed'} runs one scenario; leave out --${other}`,
    );
}
if (values.report === true && values.from !== undefined)
  commandLine.refuse('--report is about the seeds from 1 on; leave out --from');

if (values.scenario !== undefined) process.exitCode = await tellOne(readScenario(values.scenario));
else if (values.seed !== undefined)
  process.exitCode = await tellOne(makeScenario(commandLine.whole('seed', values.seed)));
else process.exitCode = await runMany();

async function runMany(): Promise<number> {
  const count = commandLine.whole('seeds', values.seeds ?? '100');
  const from = commandLine.whole('from', values.from ?? '1');
  const jobs = commandLine.whole('jobs', values.jobs ?? String(availableParallelism()));
  const startedMs = performance.now();
  const broken: SeedRun[] = [];
  const all: SeedRun[] = [];
  await runSeeds({ from, count, jobs }, (run) => {
    all.push(run);
    if (run.result.violations.length > 0) {
      broken.push(run);
      console.log(describe(run));
    } else if (all.length % 100 === 0) console.log(`${all.length} of ${count}`);
  });
  const seconds = (performance.now() - startedMs) / 1_000;
  const sum = (of: (run: SeedRun) => number): number =>
    all.reduce((total, run) => total + of(run), 0);
  const lines = {
    Seeds: `${from} to ${from + count - 1}, ${broken.length} of which break a promise`,
    'Time simulated, hours': (sum(({ result }) => result.virtualMs) / 3_600_000).toFixed(0),
    Calls: sum(({ result }) => result.calls).toLocaleString('en-US'),
    Attempts: sum(({ result }) => result.attempts).toLocaleString('en-US'),
    'Turns of the event loop': sum(({ result }) => result.turns).toLocaleString('en-US'),
    'CPU time, s': (sum(({ cpuMs }) => cpuMs) / 1_000).toFixed(0),
    'Time, s': seconds.toFixed(0),
  };
  for (const [what, figure] of Object.entries(lines)) console.log(`${what}: ${figure}`);
  const first = broken[0];
  if (first !== undefined) await tellLeast(first);
  if (values.report === true) writeSection(lines, count);
  return broken.length === 0 ? 0 : 1;
}

async function tellLeast({ seed, result }: SeedRun): Promise<void> {
  const rule = result.violations[0]?.rule;
  const breaksIt = async (candidate: Scenario): Promise<boolean> => {
    const { violations, waits } = await simulate(candidate);
    const all = rule === neighbourRule ? await neighboursHurt(candidate, waits) : violations;
    return all.some((each) => each.rule === rule);
  };
  const least = await shrink(makeScenario(seed), breaksIt, mostShrinkRuns);
  const folder = new URL('../../../.cache/simulate/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  const file = new URL(`seed-${seed}.json`, folder);
  writeFileSync(file, `${JSON.stringify(least, null, 2)}\n`);
  console.log(
    `\nThe least scenario that breaks it: npm run simulate -- --scenario .cache/simulate/seed-${seed}.json`,
  );
  await tellOne(least);
}

async function tellOne(scenario: Scenario): Promise<number> {
  const told: string[] = [];
  const result = await simulate(scenario, { tell: (line) => told.push(line) });
  const left = told.length - mostTold;
  if (left > 0 && values.seed === undefined) told.splice(0, left, `(${left} lines before)`);
  console.log(told.join('\n'));
  const violations = [...result.violations, ...(await neighboursHurt(scenario, result.waits))];
  for (const { rule, what } of violations) console.log(`BROKEN: ${rule}: ${what}`);
  console.log(`fingerprint ${result.fingerprint}`);
  return violations.length === 0 ? 0 : 1;
}

function describe({ seed, result }: SeedRun): string {
  const lines = result.violations.map(({ rule, what }) => `  ${rule}: ${what}`);
  return [`seed ${seed} (npm run simulate -- --seed ${seed})`, ...lines].join('\n');
}

function readScenario(file: string): Scenario {
  const read = (): Partial<Scenario> | null => {
    try {
      return JSON.parse(readFileSync(file, 'utf8')) as Partial<Scenario> | null;
    } catch (error) {
      return commandLine.refuse(`${file} holds no scenario: ${String(error)}`);
    }
  };
  const found = read();
  const { destinations, bursts, faults } = found ?? {};
  if ([destinations, bursts, faults].every(Array.isArray)) return found as Scenario;
  return commandLine.refuse(`${file} holds no scenario; a run that breaks a promise writes one`);
}
