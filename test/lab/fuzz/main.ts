import { availableParallelism } from 'node:os';
import { hintAmong } from '../../../src/near.ts';
import { saveInput } from './engine/corpus.ts';
import { describeFinding, fuzzApart } from './engine/apart.ts';
import { moduleOf, targetNames } from './engine/targets.ts';
import { floodEndpoints } from './floods/endpoint-flood.ts';
import { floodGateway } from './floods/gateway-flood.ts';
import { CommandLine } from '../../harness/command-line.ts';
import { circumstances } from '../../harness/recorded-page.ts';
import { writeReliability } from '../../harness/reliability-page.ts';
import { reportSection, type FuzzRow } from './report.ts';

/**
 * `npm run fuzz -- [TARGET…] [--minutes N] [--jobs N] [--seed N] [--report]`: changed inputs for each reader of
 * bytes, and the two floods, for so many minutes each. Inputs that break a rule are kept in `corpus`. Ends with 1 if
 * there is one.
 */
const floods = {
  'gateway-flood': (seed: number, share: number) => floodGateway(seed, Math.ceil(100_000 * share)),
  'endpoint-flood': (seed: number, share: number) =>
    floodEndpoints(seed, Math.ceil(10_000 * share)),
} as const;
const floodNames = ['gateway-flood', 'endpoint-flood'] as const;
const names: readonly string[] = [...targetNames, ...floodNames];

const commandLine = new CommandLine(
  'fuzz',
  '[TARGET…] [--minutes N] [--jobs N] [--seed N] [--report]',
);
const { positionals, values } = commandLine.read({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    // Targets at a time; each has a thread.
    jobs: { type: 'string', default: String(availableParallelism()) },
    seed: { type: 'string', default: '1' },
    report: { type: 'boolean', default: false },
  },
});
const unknown = positionals.find((name) => !names.includes(name));
if (unknown !== undefined)
  commandLine.refuse(`there is no target ${unknown}${hintAmong(unknown, names, 'allowed')}`);
const minutes = Number(values.minutes);
if (!(minutes > 0 && minutes <= 1_440))
  commandLine.refuse(`--minutes is '${values.minutes}'; allowed: a number above 0, up to 1440`);
const jobs = commandLine.whole('jobs', values.jobs);
const seed = commandLine.whole('seed', values.seed, 0);
if (values.report && positionals.length > 0)
  commandLine.refuse(`--report is about all targets; leave out ${positionals.join(' ')}`);
const chosen = names.filter((name) => positionals.length === 0 || positionals.includes(name));
const rows = new Map<string, FuzzRow>();
let isClean = true;
const targets = targetNames.filter((each) => chosen.includes(each));
const left = targets.values();
await Promise.all(Array.from({ length: Math.min(jobs, targets.length) }, fuzzWhatIsLeft));
const flooded: string[] = [];
for (const name of floodNames.filter((each) => chosen.includes(each))) {
  // The figures that are promised for ten minutes.
  const { text, problems } = await floods[name](seed, Math.min(1, minutes / 10));
  flooded.push(text);
  console.log(`${name}: ${text}`);
  for (const problem of problems) {
    isClean = false;
    console.log(`  ${problem}`);
  }
}
if (values.report) {
  writeReliability(
    'fuzzing',
    reportSection({
      when: circumstances(),
      minutes,
      seed,
      rows: targets.flatMap((name) => rows.get(name) ?? []),
      floods: flooded,
    }),
  );
}
process.exit(isClean ? 0 : 1);

async function fuzzWhatIsLeft(): Promise<void> {
  for (const name of left) {
    const limits = { seed, durationMs: minutes * 60_000, leastRuns: 0, mostRuns: Infinity };
    const { runs, corpus, blocks, findings } = await fuzzApart(moduleOf(name), limits);
    rows.set(name, { name, runs, blocks, findings: findings.length });
    console.log(`${name}: ${runs} inputs, ${corpus} kept, ${blocks} blocks of code reached`);
    for (const finding of findings) {
      isClean = false;
      const file = saveInput(name, finding.input);
      console.log(`  ${describeFinding(finding)}\n  kept as ${file}`);
    }
  }
}
