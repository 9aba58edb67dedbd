import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** As in deploy/Dockerfile. */
export const roleArgv: readonly string[] = [
  '--max-old-space-size=300',
  '--max-semi-space-size=16',
  '--v8-pool-size=1',
];

/** As in the console's manifest. */
export const consoleEnvironment: Readonly<Record<string, string>> = {
  NODE_OPTIONS: '--max-old-space-size=300 --max-semi-space-size=8 --v8-pool-size=1',
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '65536',
};

/** What a benchmark found; every sample is one round of alternating runs. */
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
  /** Where there are more figures than a list can hold. */
  readonly tables?: readonly Table[];
  /** Sentences on where the figures come from. */
  readonly notes?: readonly string[];
}

/** Figures by row and column; what the first column says names its row. */
export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** What a measured process prints. */
export interface Measurement {
  /** Or records, calls, changes: whatever the role makes. */
  readonly deliveries: number;
  readonly cpuUs: number;
  readonly wallMs: number;
  readonly rssBytes: number;
  /** When the warm-up ended. */
  readonly rssAtWarmUpBytes: number;
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
    // Stock kafkajs sets timers for times that are over.
    execArgv: ['--disable-warning=TimeoutNegativeWarning', ...execArgv],
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

/** What several samples say together. */
export function summarize(
  samples: readonly number[],
): Pick<BenchResult, 'ratios' | 'median' | 'spread'> {
  return {
    ratios: samples,
    median: medianOf(samples),
    spread: [Math.min(...samples), Math.max(...samples)],
  };
}

export function medianOf(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}
