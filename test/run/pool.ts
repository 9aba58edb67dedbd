import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, getPriority, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Job, JobResult, Report } from './job.ts';

const cores = availableParallelism();
/**
 * Tests on a broker wait for most of their time, so that several beside each job that computes leave nothing idle.
 * One job more computes than there are cores, because some unit tests wait as well.
 */
const most = { processor: cores + 1, broker: 3 * cores + 1 } as const;
/** Jobs that compute give way, because nobody waits inside of them for an answer in time. */
const processorPriority = 10;

/**
 * Runs all jobs, as many at a time as the machine bears, in their order.
 * @param onEnd called with each result as it comes
 */
export async function runAll(
  jobs: readonly Job[],
  onEnd: (result: JobResult) => void,
): Promise<JobResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-run-'));
  const runMs = performance.now();
  const results: JobResult[] = [];
  const work = async (kind: Job['kind'], waiting: Job[]): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const startedS = (performance.now() - runMs) / 1000;
      const result = { ...(await run(job, join(folder, `${kind}-${waiting.length}`))), startedS };
      results.push(result);
      onEnd(result);
    }
  };
  await Promise.all(
    (['broker', 'processor'] as const).flatMap((kind) => {
      const waiting = jobs.filter((job) => job.kind === kind);
      return Array.from({ length: most[kind] }, () => work(kind, waiting));
    }),
  );
  rmSync(folder, { recursive: true, force: true });
  return results;
}

/** A change that breaks more files than this has broken something. */
const mostToRepeat = 3;

/**
 * The jobs on a broker that failed, unless they are many: they run real processes, whose sessions and timeouts
 * end by the clock, and a machine that others use may not give them their time. No other test depends on that.
 */
export function jobsToRepeat(results: readonly JobResult[]): readonly Job[] {
  const failed = results.filter(({ passed }) => !passed).map(({ job }) => job);
  const isSlowMachine =
    failed.length <= mostToRepeat && failed.every(({ kind }) => kind === 'broker');
  return isSlowMachine ? failed : [];
}

/** @param place the beginning of the names of the files that the process writes */
async function run(job: Job, place: string): Promise<Omit<JobResult, 'startedS'>> {
  const [usageFile, reportFile] = [`${place}.usage`, `${place}.report`];
  const reporting = [
    '--test',
    '--test-isolation=none',
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=./test/run/reporter.ts',
    `--test-reporter-destination=${reportFile}`,
    // A command that failed within the process may have left a server open, which only its end closes.
    ...(job.kind === 'broker' ? ['--test-force-exit'] : []),
  ];
  const startMs = performance.now();
  const child = spawn(
    process.execPath,
    ['--import=./test/run/in-job.ts', ...(job.files.length > 0 ? reporting : []), ...job.args],
    { env: { ...process.env, RUN_USAGE_FILE: usageFile }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  // A run that gives way already, by `nice`, may not take that back.
  if (job.kind === 'processor' && child.pid !== undefined && getPriority() < processorPriority)
    setPriority(child.pid, processorPriority);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return {
    job,
    passed: code === 0,
    wallS: (performance.now() - startMs) / 1000,
    cpuS: Number(read(usageFile) ?? NaN),
    report: JSON.parse(read(reportFile) ?? 'null') as Report | null,
    output: code === 0 ? '' : ofFailure(output),
  };
}

function read(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    return text === '' ? undefined : text;
  } catch {
    // The process was killed before it wrote.
    return undefined;
  }
}

const mostLines = 300;

/** The part of a report that is about what failed, or its last lines. */
function ofFailure(output: string): string {
  const failing = output.lastIndexOf('✖ failing tests:');
  const text = failing < 0 ? output : output.slice(failing);
  return text.trimEnd().split('\n').slice(-mostLines).join('\n');
}
