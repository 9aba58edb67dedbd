import { circumstances } from '../../harness/recorded-page.ts';
import { writeReliability } from '../../harness/reliability-page.ts';
import { neighbourRule, rules, uncaughtRule } from './invariants.ts';
import { faultKinds } from './make-scenario.ts';
import { troubleKinds } from './scenario.ts';

/** Replaces what docs/reliability.md says of the simulation. */
export function writeSection(figures: Readonly<Record<string, string>>, seeds: number): void {
  const { date, machine, node } = circumstances();
  const section = [
    `Recorded on ${date} with \`npm run simulate -- --seeds ${seeds} --report\`: ${machine}, Node.js ${node}.`,
    'Each seed makes a scenario: some destinations, users and workers, what goes wrong, and when. The code of production runs in it, from the consumer groups to the retries, against brokers and endpoints in memory, and with simulated time and chance. So the same seed gives the same history, to the byte, and a seed that breaks a promise can be replayed.',
    listOf(Object.entries(figures).map(([what, figure]) => `${what}: ${figure}`)),
    `What goes wrong: ${[...new Set(faultKinds)].join(', ')}; an endpoint ${troubleKinds.join(', ')}.`,
    `What is checked:\n\n${listOf([...Object.keys(rules), uncaughtRule, `${neighbourRule} (in each tenth seed, and in each crowd)`])}`,
    '```sh\nnpm run simulate -- --seeds 1000\nnpm run simulate -- --seed 42\n```',
  ].join('\n\n');
  writeReliability('simulation', section);
}

function listOf(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}
