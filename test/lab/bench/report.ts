import { readFileSync, writeFileSync } from 'node:fs';
import { tableText } from '../../harness/markdown-table.ts';
import { circumstances, withSection, type Circumstances } from '../../harness/recorded-page.ts';
import type { BenchResult } from './measure.ts';

/** In the order of docs/performance.md. */
export const benchNames = [
  'delivery',
  'batch',
  'tls',
  'router',
  'gateway',
  'latency',
  'isolation',
  'destinations',
  'growth',
  'fleet',
  'memory',
  'heap',
  'outages',
  'ordinary-days',
  'rebalance',
  'crash',
  'reading',
  'decode',
  'fence',
  'attempts',
  'explain',
  'status',
  'apply',
  'console',
  'api',
  'client',
  'audience',
  'postgres',
  'peers',
] as const;

export type BenchName = (typeof benchNames)[number];

const page = new URL('../../../docs/performance.md', import.meta.url);

/** Replaces what docs/performance.md says of one bench; all else stays as it was recorded. */
export function writeReport(
  name: BenchName,
  results: readonly BenchResult[],
  variables: string,
): void {
  const text = readFileSync(page, 'utf8');
  const section = sectionOf(name, results, circumstances(), variables);
  writeFileSync(page, withSection(text, benchNames, name, section));
}

/**
 * A bench as Markdown: each result with its bar, its samples, and the figures beside the ratio.
 * @param variables that were set, as they stand before the command
 */
export function sectionOf(
  name: BenchName,
  results: readonly BenchResult[],
  { date, machine, node }: Circumstances,
  variables = '',
): string {
  const head = `Recorded on ${date} with \`${variables}npm run bench -- ${name} --report\`: ${machine}, Node.js ${node}.`;
  return [head, ...results.map(resultText)].join('\n\n');
}

function resultText({
  name,
  required,
  passed,
  median,
  ratios,
  spread,
  ...result
}: BenchResult): string {
  const [least, most] = spread.map(spelled);
  const samples =
    ratios.length === 1
      ? `- Measured: ${spelled(median)} (1 sample)`
      : `- Measured: median ${spelled(median)} of ${ratios.length} samples, ${least ?? ''} to ${most ?? ''}`;
  const lines = [
    samples,
    `- Required: ${required}${passed ? '' : ' (**missed**)'}`,
    ...Object.entries(result.absolutes).map(([what, figure]) => `- ${inText(what)}: ${figure}`),
  ];
  const tables = (result.tables ?? []).map(
    (table) => `${inText(table.title)}:\n\n${tableText(table)}`,
  );
  const { notes = [] } = result;
  return [`### ${inText(name)}`, lines.join('\n'), ...tables, ...notes].join('\n\n');
}

/** Four digits, so that a bar such as 0.999 can be seen to be reached. */
function spelled(value: number): string {
  return Number(value.toPrecision(4)).toLocaleString('en-US', { maximumFractionDigits: 6 });
}

function inText(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).replaceAll(/[*_<]/g, '\\$&');
}
