import { coverage, mean, outageCosts } from '../../simulation/outages.ts';
import type { Coverage, OutageCost, Trouble } from '../../simulation/outages.ts';
import { medianOf, type BenchResult } from './measure.ts';

export interface OutagesBenchOptions {
  /** Of ten minutes; default 20. */
  readonly outages?: number;
  /** Runs over the whole distribution of outages; default 5. */
  readonly distributions?: number;
  readonly log?: (line: string) => void;
}

const minutes = 10;
const mostWrites = 3;
const leastAttempted = 0.95;
const leastOfOracle = 0.999;

/** What an endpoint's outage costs, and what is delivered in spite of many: the engine in simulated time. */
export async function benchOutages(options: OutagesBenchOptions): Promise<BenchResult[]> {
  const { outages = 20, distributions = 5, log } = options;
  const costs = await outageCosts(minutes, outages);
  for (const { trouble, writes, attempted } of costs)
    log?.(`it ${trouble}: ${writes.toFixed(2)} writes, ${percent(attempted)} attempted`);
  const coverages: Coverage[] = [];
  for (let seed = 1; seed <= distributions; seed += 1) {
    const found = await coverage(seed);
    coverages.push(found);
    log?.(`of ${found.published} events ${found.delivered}, the oracle ${found.oracle}`);
  }
  return [writesOf(costs), attemptedOf(costs), shareOfOracle(coverages)];
}

function writesOf(costs: readonly OutageCost[]): BenchResult {
  const average = (trouble: Trouble): string =>
    mean(costs.filter((cost) => cost.trouble === trouble).map(({ writes }) => writes)).toFixed(2);
  const writes = costs.map((cost) => cost.writes);
  return {
    name: `outages: writes to retry topics a record, while its endpoint is away for ${minutes} min`,
    required: `on average at most ${mostWrites}`,
    ...samples(writes),
    passed: mean(writes) <= mostWrites,
    absolutes: {
      'on average': mean(writes).toFixed(2),
      'of an endpoint that answers 503': average('answers 503'),
      'of one that hangs': average('hangs'),
    },
  };
}

function attemptedOf(costs: readonly OutageCost[]): BenchResult {
  const attempted = costs.map((cost) => cost.attempted);
  return {
    name: `outages: what was attempted of that backlog ${minutes / 2} min after the endpoint was back`,
    required: `on average at least ${leastAttempted}`,
    ...samples(attempted),
    passed: mean(attempted) >= leastAttempted,
    absolutes: {
      'on average': percent(mean(attempted)),
      'in the worst run': percent(Math.min(...attempted)),
    },
  };
}

function shareOfOracle(coverages: readonly Coverage[]): BenchResult {
  const shares = coverages.map(({ delivered, oracle }) => delivered / oracle);
  const total = (count: (coverage: Coverage) => number): number =>
    coverages.reduce((sum, coverage) => sum + count(coverage), 0);
  const published = total((coverage) => coverage.published);
  return {
    name: 'outages: what is delivered of what one delivers who tries continuously inside the window',
    required: `at least ${leastOfOracle}, in every run`,
    ...samples(shares),
    passed: shares.every((share) => share >= leastOfOracle),
    absolutes: {
      'in the worst run': percent(Math.min(...shares)),
      events: String(published),
      'first tries that succeed': percent(total((coverage) => coverage.firstTries) / published),
      'the oracle delivers': String(total((coverage) => coverage.oracle)),
      'of these are delivered': String(total((coverage) => coverage.delivered)),
    },
  };
}

function samples(ratios: readonly number[]): Pick<BenchResult, 'ratios' | 'median' | 'spread'> {
  return { ratios, median: medianOf(ratios), spread: [Math.min(...ratios), Math.max(...ratios)] };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(3)} %`;
}
