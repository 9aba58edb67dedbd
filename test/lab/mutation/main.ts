import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { seededRandom } from '../../delivery/simulated-clock.ts';
import { CommandLine } from '../../harness/command-line.ts';
import { Finder, type Finding, type KnownFinding } from './find.ts';
import { defectMutants } from './known-defects.ts';
import { mutantsOf, type Mutant } from './operators.ts';
import { reasonOf, unusedReasons } from './survivors.ts';
import { counted, writeSection } from './report.ts';
import { root, sample, targetFiles } from './targets.ts';
import { cacheFolder, UsualRuns } from './usual-runs.ts';

/**
 * `npm run mutate -- [--files GLOB] [--mutants N] [--seed N] [--jobs N] [--report]`: plants bugs in the engine,
 * the cursors, the groups, the followers and the producer, one at a time, and counts which of them tests and
 * simulation find. Ends with 1 if fewer are found than promised, or a survivor has no reason.
 */
const promisedShare = 0.95;

const commandLine = new CommandLine(
  'mutate',
  '[--files GLOB] [--mutants N] [--seed N] [--jobs N] [--report]',
);
const { values } = commandLine.read({
  options: {
    files: { type: 'string' },
    mutants: { type: 'string', default: '250' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '1' },
    report: { type: 'boolean', default: false },
  },
});
if (values.report && values.files !== undefined)
  commandLine.refuse('--report is about all files; leave out --files');
const mutantCount = commandLine.whole('mutants', values.mutants, 0);
const seed = commandLine.whole('seed', values.seed, 1);
const jobs = commandLine.whole('jobs', values.jobs, 1);
const files = targetFiles(values.files ?? '**');
if (files.length === 0)
  commandLine.refuse(
    `--files '${values.files ?? ''}' matches none of: ${targetFiles().join(', ')}`,
  );

const byFile = new Map(files.map((file) => [file, mutantsIn(file)]));
const defects = defectMutants().filter(({ file }) => files.includes(file));
const mutants: readonly Mutant[] = [...defects, ...sample(byFile, mutantCount, seededRandom(seed))];
const knownFile = join(cacheFolder, 'findings.json');
const known = readKnown();
const finder = new Finder(new UsualRuns(targetFiles()), known);
const findings: Finding[] = [];
let next = 0;
await Promise.all(Array.from({ length: jobs }, work));

const figures = counted(findings);
const share = figures.share;
console.log(
  `${figures.changing} mutants that change behaviour: ${figures.byUnitTests} found by unit tests, ${figures.bySimulation} by simulation, ${figures.unfound} by nothing: ${(100 * share).toFixed(1)} % found. ${figures.equivalent} change nothing that anybody could see.`,
);
const untold = findings.filter(
  ({ by, mutant }) => by === 'nothing' && reasonOf(mutant.id) === undefined,
);
if (untold.length > 0)
  console.log(
    `Survivors without a reason in test/lab/mutation/survivors.ts:\n${untold.map(tell).join('\n')}`,
  );
const unused = unusedReasons(findings);
if (unused.length > 0) console.log(`Reasons of mutants that were found:\n${unused.join('\n')}`);
if (values.report)
  writeSection(findings, {
    command: `npm run mutate -- --mutants ${mutantCount} --seed ${seed} --report`,
    candidates: [...byFile.values()].reduce((sum, { length }) => sum + length, 0),
    files: files.length,
  });
process.exitCode = share >= promisedShare && untold.length === 0 ? 0 : 1;

async function work(): Promise<void> {
  for (let mutant = mutants[next++]; mutant !== undefined; mutant = mutants[next++]) {
    const finding = await finder.find(mutant);
    findings.push(finding);
    const { by, what, hung } = finding;
    known.set(mutant.id, {
      by,
      ...(what === undefined ? {} : { what, hung: hung === true }),
      state: finder.stateOf(finding),
    });
    console.log(`${findings.length} of ${mutants.length}: ${tell(finding)}`);
    mkdirSync(cacheFolder, { recursive: true });
    writeFileSync(knownFile, JSON.stringify(Object.fromEntries(known), null, 1));
  }
}

function tell({ mutant, by, what, hung }: Finding): string {
  const how =
    what === undefined ? 'SURVIVED' : `${hung === true ? 'hung' : 'found'} (${by}, ${what})`;
  return `${how} line ${mutant.line} ${mutant.id}`;
}

function mutantsIn(file: string): Mutant[] {
  return mutantsOf(file, readFileSync(join(root, file), 'utf8'));
}

function readKnown(): Map<string, KnownFinding> {
  if (!existsSync(knownFile)) return new Map();
  const found = JSON.parse(readFileSync(knownFile, 'utf8')) as Record<string, KnownFinding>;
  return new Map(Object.entries(found));
}
