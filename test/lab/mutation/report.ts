import { circumstances, type Circumstances } from '../../harness/recorded-page.ts';
import { writeReliability } from '../../harness/reliability-page.ts';
import { pipelineSeeds, type Finding } from './find.ts';
import { knownDefects } from './known-defects.ts';
import { reasonOf } from './survivors.ts';

export interface RunFacts {
  readonly command: string;
  /** All mutants that the operators know in the files. */
  readonly candidates: number;
  readonly files: number;
}

export interface Counted {
  /** Mutants, without those that change nothing. */
  readonly changing: number;
  readonly byUnitTests: number;
  readonly bySimulation: number;
  readonly unfound: number;
  readonly equivalent: number;
  /** Of `changing`. */
  readonly share: number;
}

export function counted(findings: readonly Finding[]): Counted {
  const by = (kind: Finding['by']): number => findings.filter((each) => each.by === kind).length;
  const equivalent = findings.filter(isEquivalent).length;
  const changing = findings.length - equivalent;
  const unfound = by('nothing') - equivalent;
  const share = changing === 0 ? 1 : (changing - unfound) / changing;
  const found = { byUnitTests: by('unit tests'), bySimulation: by('simulation') };
  return { changing, ...found, unfound, equivalent, share };
}

/** Replaces what docs/reliability.md says of planted bugs. */
export function writeSection(findings: readonly Finding[], facts: RunFacts): void {
  writeReliability('planted bugs', sectionOf(findings, facts, circumstances()));
}

export function sectionOf(
  findings: readonly Finding[],
  { command, candidates, files }: RunFacts,
  { date, machine, node }: Circumstances,
): string {
  const { changing, byUnitTests, bySimulation, unfound, equivalent, share } = counted(findings);
  const survivors = findings.filter(({ by }) => by === 'nothing');
  const hung = findings.filter(({ hung }) => hung === true).length;
  const isDefect = ({ mutant }: Finding): boolean => mutant.id in knownDefects;
  const defects = findings.filter(isDefect);
  return [
    `Recorded on ${date} with \`${command}\`: ${machine}, Node.js ${node}.`,
    `A small bug is planted in the engine, the cursors, the groups, the followers or the producer, one at a time: a condition is turned around, a number is one more or less, a statement, an \`await\` or an early return is missing. The tests that run the place are tried, the cheapest first, and then ${pipelineSeeds} seeds of the simulation of the whole pipeline and the simulations of the engine. ${findings.length - defects.length} bugs are a sample by chance of ${count(candidates)} in ${files} files; ${defects.length} are defects that this project once had, planted again.`,
    'All of that takes one to two hours on two cores. What was found before is not tried again while the test that found it, and all that this test loads, are the same.',
    `**${(100 * share).toFixed(1)} % of ${changing} planted bugs were found**: ${byUnitTests} by unit tests, ${bySimulation} by simulation only, ${unfound} by nothing. ${hung} of the found ones let a test hang. ${equivalent} more planted changes are not counted, as they change nothing that anybody could see.`,
    ...listed('Defects of the past that were planted again:', defects.map(ofDefect)),
    ...listed('Not found:', survivors.filter((each) => !isEquivalent(each)).map(ofSurvivor)),
    ...listed('Not counted, as nothing changes:', survivors.filter(isEquivalent).map(ofSurvivor)),
    'Tests were added for what earlier runs with this seed did not find. Another seed shows what is found of a sample that nobody has looked at: before this one, 80 % of one sample were found, and 90 % of the next, after tests for what the first had shown.',
    '```sh\nnpm run mutate -- --mutants 250 --seed 2\nnpm run mutate -- --files "src/kafka/produce/*.ts" --mutants 50\n```',
  ].join('\n\n');
}

function isEquivalent({ by, mutant }: Finding): boolean {
  return by === 'nothing' && reasonOf(mutant.id)?.kind === 'equivalent';
}

function ofDefect({ mutant, by }: Finding): string {
  const found = by === 'nothing' ? 'not found' : `found by ${by}`;
  return `${knownDefects[mutant.id]?.says ?? ''} (\`${mutant.file}\`): ${found}.`;
}

function ofSurvivor({ mutant: { id, file } }: Finding): string {
  const change = id.slice(file.length + 1).replaceAll('`', "'");
  const why = reasonOf(id)?.why ?? 'No reason is known yet.';
  return `\`${file}\`, \`${change}\`: ${why}`;
}

function listed(lead: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [lead, lines.map((line) => `- ${line}`).join('\n')];
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}
