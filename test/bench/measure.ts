import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** As in deploy/Dockerfile. */
export const roleArgv: readonly string[] = [
  '--max-old-space-size=300',
  '--max-semi-space-size=16',
  '--v8-pool-size=1',
];

/** What a benchmark found; every sample is one alternating pair of runs. */
export interface BenchResult {
  readonly name: string;
  /** What must be reached. */
  readonly required: string;
  readonly ratios: readonly number[];
  readonly median: number;
  /** Smallest and largest. */
  readonly spread: readonly [number, number];
  readonly passed: boolean;
  /** Absolute figures beside the ratio, for a person. */
  readonly absolutes: Readonly<Record<string, string>>;
}

/** What a measured process prints. */
export interface Measurement {
  readonly deliveries: number;
  readonly cpuUs: number;
  readonly wallMs: number;
  readonly rssBytes: number;
  /** When the warm-up ended. */
  readonly rssAtWarmUpBytes: number;
}

export interface Comparison {
  readonly name: string;
  /** Deliveries per CPU second, as a share of the bare loop's. */
  readonly requiredRatio: number;
  readonly pairs: number;
  readonly bare: (pair: number) => Promise<Measurement>;
  readonly role: (pair: number) => Promise<Measurement>;
  readonly log: (line: string) => void;
}

/** Runs both in turn, so that whatever else the machine does hits both alike. */
export async function compare(comparison: Comparison): Promise<BenchResult> {
  const { name, requiredRatio, pairs, log } = comparison;
  const ratios: number[] = [];
  const bareUs: number[] = [];
  const roleUs: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const bare = await comparison.bare(pair);
    const role = await comparison.role(pair);
    bareUs.push(cpuPerDelivery(bare));
    roleUs.push(cpuPerDelivery(role));
    const ratio = cpuPerDelivery(bare) / cpuPerDelivery(role);
    ratios.push(ratio);
    log(`bare ${describe(bare)}; role ${describe(role)}; ratio ${ratio.toFixed(2)}`);
  }
  const median = medianOf(ratios);
  return {
    name,
    required: `at least ${requiredRatio}`,
    ratios,
    median,
    spread: [Math.min(...ratios), Math.max(...ratios)],
    passed: median >= requiredRatio,
    absolutes: {
      'bare loop, CPU µs a delivery': medianOf(bareUs).toFixed(2),
      'role, CPU µs a delivery': medianOf(roleUs).toFixed(2),
    },
  };
}

/**
 * Runs a script that prints one measurement; its argument is the load as JSON. A script that is a server
 * sends its port once it listens.
 */
export async function runMeasured(
  script: URL,
  load: object,
  execArgv: readonly string[] = [],
  onPort: (port: number) => void = () => undefined,
): Promise<Measurement> {
  const child = fork(script, [JSON.stringify(load)], {
    execArgv: [...execArgv],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  child.once('message', onPort);
  const line = await firstLine(child);
  if (child.exitCode === null) await once(child, 'exit');
  return JSON.parse(line) as Measurement;
}

/**
 * In the measured process: waits until `delivered` has reached the end of the load, measures from the
 * end of the warm-up on, prints, and ends the process.
 */
export async function reportMeasurement(
  { warmUp, total }: { readonly warmUp: number; readonly total: number },
  delivered: () => Promise<number> | number,
): Promise<never> {
  const reach = async (count: number): Promise<number> => {
    for (;;) {
      const now = await delivered();
      if (now >= count) return now;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const first = await reach(warmUp);
  const rssAtWarmUpBytes = process.memoryUsage.rss();
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  const last = await reach(total);
  const cpu = process.cpuUsage(cpuBefore);
  const measurement: Measurement = {
    deliveries: last - first,
    cpuUs: cpu.user + cpu.system,
    wallMs: performance.now() - startedMs,
    rssBytes: process.memoryUsage.rss(),
    rssAtWarmUpBytes,
  };
  process.stdout.write(`${JSON.stringify(measurement)}\n`);
  process.exit();
}

export async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('its output is not a pipe');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error(`it ended without a result: ${child.spawnargs.join(' ')}`);
}

function cpuPerDelivery({ cpuUs, deliveries }: Measurement): number {
  return cpuUs / deliveries;
}

function describe(measurement: Measurement): string {
  const perSecond = Math.round((measurement.deliveries / measurement.wallMs) * 1_000);
  const rssMb = Math.round(measurement.rssBytes / 1_048_576);
  return `${cpuPerDelivery(measurement).toFixed(2)} µs, ${perSecond}/s, ${rssMb} MB`;
}

export function medianOf(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}
