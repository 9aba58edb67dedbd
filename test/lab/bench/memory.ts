import { withDeliveryLoad } from './delivery.ts';
import { roleArgv, type BenchResult, type Measurement } from './measure.ts';
import { copiesPerCall } from './router-load.ts';
import { withRouterLoad } from './router.ts';

/** Resident memory of each role after a million records against that after 200,000. */

export interface MemoryBenchOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly log?: (line: string) => void;
}

const records = 1_000_000;
const earlyRecords = 200_000;
const mostRatio = 1.1;
const mostBytes = 400_000_000;

export async function benchMemory(options: MemoryBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, log = () => undefined } = options;
  const delivery = await withDeliveryLoad(
    { brokers, prefix: `${prefix}delivery.`, events: records, warmUp: earlyRecords },
    (run) => run('delivery-role.ts', `${prefix}memory`, roleArgv),
  );
  const results = [resultOf('delivery', delivery)];
  log(describe('delivery', delivery));
  const router = await withRouterLoad(
    {
      brokers,
      prefix: `${prefix}router.`,
      calls: records,
      warmUp: earlyRecords * copiesPerCall,
    },
    (run) => run('router-role.ts', `${prefix}memory`, roleArgv),
  );
  log(describe('router', router));
  return [...results, resultOf('router', router)];
}

function resultOf(role: string, measurement: Measurement): BenchResult {
  const { rssBytes, rssAtWarmUpBytes } = measurement;
  const ratio = rssBytes / rssAtWarmUpBytes;
  return {
    name: `${role}: resident memory after 1,000,000 records against 200,000`,
    required: `at most ${mostRatio}, and under 400 MB`,
    ratios: [ratio],
    median: ratio,
    spread: [ratio, ratio],
    passed: ratio <= mostRatio && rssBytes < mostBytes,
    absolutes: { 'after 200,000, MB': mb(rssAtWarmUpBytes), 'after 1,000,000, MB': mb(rssBytes) },
  };
}

function describe(role: string, { rssAtWarmUpBytes, rssBytes }: Measurement): string {
  return `${role}: ${mb(rssAtWarmUpBytes)} MB after 200,000 records, ${mb(rssBytes)} MB at the end`;
}

function mb(bytes: number): string {
  return (bytes / 1_000_000).toFixed(0);
}
