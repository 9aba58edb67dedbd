import { kafkaVersion } from '../../../src/dev/kafka-jars.ts';
import { circumstances, type Circumstances } from '../../harness/recorded-page.ts';
import { writeReliability } from '../../harness/reliability-page.ts';
import { endpointIds } from './endpoint-kinds.ts';
import { faults } from './faults.ts';
import { callsPerSecond } from './load.ts';
import { seconds, type PhaseResult } from './phase.ts';
import type { SoakResult } from './soak.ts';
import { retryTiers } from './stand.ts';

/** Replaces what docs/reliability.md says of the soak. */
export function writeReport(result: SoakResult): void {
  writeReliability('soak', sectionOf(result, circumstances()));
}

export function sectionOf(result: SoakResult, { date, machine, node }: Circumstances): string {
  const { seed, minutes, tookMs, loadAverage, phases, skipped, crashes } = result;
  const lost = sum(phases, (phase) => phase.lost.length);
  const accepted = count(sum(phases, (phase) => phase.accepted));
  const problems = phases.flatMap((phase) =>
    phase.problems.map((problem) => `${phase.fault} (${phase.what}): ${problem}`),
  );
  const had = faults.filter(({ name }) => phases.some(({ fault }) => fault === name));
  const others = faults.filter((fault) => !had.includes(fault)).map(({ name }) => name);
  const notHad = others.filter((name) => !skipped.some((line) => line.startsWith(`${name}:`)));
  const rows = had.map(({ name }) => rowOf(phases.filter(({ fault }) => fault === name)));
  return [
    `Recorded on ${date} with \`npm run soak -- --minutes ${minutes} --seed ${seed} --report\`: ${machine}, Node.js ${node}, Apache Kafka ${kafkaVersion}. Load average of the machine: ${loadAverage.toFixed(1)}.`,
    `**${count(phases.length)} faults in ${Math.round(tookMs / 60_000)} minutes, ${accepted} calls accepted, each for ${endpointIds.length} endpoints. Lost: ${count(lost)}.**`,
    table([
      ['Fault', 'Times', 'Accepted', 'Lost', 'Repeated', 'Longest stall', 'Longest wait'],
      ...rows,
    ]),
    had.map(({ name, does }) => `- \`${name}\`: ${does}`).join('\n'),
    `Each second, ${callsPerSecond} calls come in. The retry tiers are ${retryTiers.join(', ')}, so that events walk through all of them.`,
    ...(notHad.length === 0 ? [] : [`There was no time for ${notHad.join(', ')}.`]),
    ...listed('Promises that were not kept:', problems),
    ...listed('Left out, because this machine cannot have them:', skipped),
    ...listed(
      'Roles that ended by themselves and were started again:',
      crashes.map((crash) => crash.split('\n')[0] ?? ''),
    ),
  ].join('\n\n');
}

function rowOf(phases: readonly PhaseResult[]): string[] {
  const longest = (of: (phase: PhaseResult) => number): string =>
    seconds(Math.max(...phases.map(of)));
  return [
    `\`${phases[0]?.fault ?? ''}\``,
    count(phases.length),
    count(sum(phases, ({ accepted }) => accepted)),
    count(sum(phases, ({ lost }) => lost.length)),
    count(sum(phases, ({ repeated }) => repeated)),
    longest(({ longestStallMs }) => longestStallMs),
    longest(({ longestWait }) => longestWait.waitMs),
  ];
}

/** Formatted as Prettier does it. */
function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

function listed(lead: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [lead, lines.map((line) => `- ${escaped(line)}`).join('\n')];
}

function escaped(text: string): string {
  return text.replaceAll(/[*_<`]/g, '\\$&').replaceAll(/\s+/g, ' ');
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}

function sum(phases: readonly PhaseResult[], of: (phase: PhaseResult) => number): number {
  return phases.reduce((total, phase) => total + of(phase), 0);
}
