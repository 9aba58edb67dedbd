import { tableText } from '../../harness/markdown-table.ts';
import type { Circumstances } from '../../harness/recorded-page.ts';

/** What one target was fed. */
export interface FuzzRow {
  readonly name: string;
  readonly runs: number;
  /** Blocks of code that were reached. */
  readonly blocks: number;
  readonly findings: number;
}

export interface FuzzReport {
  readonly when: Circumstances;
  /** For each target. */
  readonly minutes: number;
  readonly seed: number;
  readonly rows: readonly FuzzRow[];
  /** A sentence for each flood. */
  readonly floods: readonly string[];
}

/** The section's Markdown, without its heading. */
export function reportSection({ when, minutes, seed, rows, floods }: FuzzReport): string {
  const head = `Recorded on ${when.date} with \`npm run fuzz -- --minutes ${minutes} --seed ${seed} --report\`: ${when.machine}, Node.js ${when.node}. A finding is an input that breaks a rule of its target; each target's file in \`test/lab/fuzz/targets\` says what must hold. What was found is kept in \`test/lab/fuzz/corpus\`; since it is mended, \`npm test\` feeds it again.`;
  const columns = ['Target', 'Inputs', 'Blocks of code reached', 'Findings'];
  const cells = rows.map(({ name, runs, blocks, findings }) => [
    name,
    ...[runs, blocks, findings].map((value) => value.toLocaleString('en-US')),
  ]);
  const table = rows.length === 0 ? [] : [tableText({ columns, rows: cells })];
  const list = floods.length === 0 ? [] : [floods.map((each) => `- ${each}`).join('\n')];
  return [head, ...table, ...list].join('\n\n');
}
