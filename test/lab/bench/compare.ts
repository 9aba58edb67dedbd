import { summarize, medianOf, type BenchResult, type Measurement } from './measure.ts';

/** What a role has to reach against a baseline; undefined: it is only stated. */
export type RequiredRatio = { readonly atLeast: number } | { readonly above: number } | undefined;

/** The least that does the role's work, in a process of its own. */
export interface Baseline {
  readonly required: RequiredRatio;
  readonly run: (round: number) => Promise<Measurement>;
}

export interface Comparison {
  /** Names what is measured; what is compared is added. */
  readonly name: string;
  /** kafkajs as it comes: all codecs registered, nothing else changed. */
  readonly stock: Baseline;
  /** This project's own client. */
  readonly own: Baseline;
  readonly role: (round: number) => Promise<Measurement>;
  /** What is counted, in the singular. Default: delivery. */
  readonly unit?: string;
  /** What the baselines are. Default: bare loop. */
  readonly bare?: string;
  readonly rounds: number;
  readonly notes?: readonly string[];
  readonly log: (line: string) => void;
}

const arms = ['stock', 'own', 'role'] as const;
type Arm = (typeof arms)[number];
type Round = Readonly<Record<Arm, Measurement>>;

/**
 * Runs all three in turn, so that whatever else the machine does hits them alike; every other round goes
 * backwards. One result for each baseline: what the role does in a CPU second, as a share of what that does.
 */
export async function compare(comparison: Comparison): Promise<BenchResult[]> {
  const { unit = 'delivery', bare = 'bare loop', log } = comparison;
  const names: Readonly<Record<Arm, string>> = {
    stock: `${bare} with stock kafkajs`,
    own: `${bare} with our client`,
    role: 'role',
  };
  const rounds: Round[] = [];
  for (let index = 0; index < comparison.rounds; index += 1) {
    const round = await runAll(comparison, index);
    rounds.push(round);
    log(arms.map((arm) => `${arm} ${describe(round[arm])}`).join('; '));
  }
  const absolutes = Object.fromEntries(
    arms.map((arm) => [
      `${names[arm]}, CPU µs a ${unit}`,
      medianOf(rounds.map((round) => cpuPerUnit(round[arm]))).toFixed(2),
    ]),
  );
  return (['stock', 'own'] as const).map((baseline) => {
    const ratios = rounds.map((round) => cpuPerUnit(round[baseline]) / cpuPerUnit(round.role));
    return {
      name: `${comparison.name} a CPU second, role against the ${names[baseline]}`,
      ...summarize(ratios),
      ...judge(medianOf(ratios), comparison[baseline].required),
      absolutes,
      notes: comparison.notes ?? [],
    };
  });
}

async function runAll(comparison: Comparison, index: number): Promise<Round> {
  const measured: Partial<Record<Arm, Measurement>> = {};
  for (const arm of index % 2 === 0 ? arms : arms.toReversed()) {
    const run = arm === 'role' ? comparison.role : comparison[arm].run;
    measured[arm] = await run(index);
  }
  const { stock, own, role } = measured;
  if (stock === undefined || own === undefined || role === undefined) throw new Error('not run');
  return { stock, own, role };
}

/** Whether a ratio is what is required, and how that is said. */
export function judge(
  ratio: number,
  required: RequiredRatio,
): Pick<BenchResult, 'required' | 'passed'> {
  if (required === undefined) return { required: 'nothing, only stated', passed: true };
  if ('above' in required)
    return { required: `above ${required.above}`, passed: ratio > required.above };
  return { required: `at least ${required.atLeast}`, passed: ratio >= required.atLeast };
}

export function cpuPerUnit({ cpuUs, deliveries }: Measurement): number {
  return cpuUs / deliveries;
}

function describe(measurement: Measurement): string {
  const perSecond = Math.round((measurement.deliveries / measurement.wallMs) * 1_000);
  const rssMb = Math.round(measurement.rssBytes / 1_048_576);
  return `${cpuPerUnit(measurement).toFixed(2)} µs, ${perSecond}/s, ${rssMb} MB`;
}
