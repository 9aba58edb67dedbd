import { fork } from 'node:child_process';
import { neighboursHurt } from './neighbours.ts';
import { isCrowd, makeScenario } from './make-scenario.ts';
import { simulate, type Result } from './simulate.ts';

export interface SeedRun {
  readonly seed: number;
  readonly result: Result;
  readonly cpuMs: number;
}

export interface Seeds {
  readonly from: number;
  readonly count: number;
  /** Processes at a time. */
  readonly jobs: number;
}

/** Runs a scenario for each seed, in processes of their own, and tells each result when it is there. */
export async function runSeeds(
  { from, count, jobs }: Seeds,
  onRun: (run: SeedRun) => void,
): Promise<void> {
  let next = from;
  const work = async (): Promise<void> => {
    const child = fork(new URL(import.meta.url), {
      execArgv: ['--min-semi-space-size=32', '--max-semi-space-size=64'],
    });
    let seed: number | undefined;
    await new Promise<void>((resolve, reject) => {
      const give = (): void => {
        seed = next < from + count ? next++ : undefined;
        if (seed === undefined) child.disconnect();
        else child.send(seed);
      };
      child.on('message', (run) => {
        onRun(run as SeedRun);
        give();
      });
      child.once('exit', (code) => {
        if (seed === undefined) resolve();
        else reject(new Error(`the process of seed ${seed} ended with ${code ?? 'a signal'}`));
      });
      give();
    });
  };
  await Promise.all(Array.from({ length: Math.min(jobs, count) }, work));
}

/** Each so many seeds, and each crowd and ordinary day, it is compared with itself without its troubles. */
const comparedEach = 10;

async function runSeed(seed: number): Promise<Result> {
  const scenario = makeScenario(seed);
  const { waits, ...result } = await simulate(scenario);
  if (seed % comparedEach !== 0 && !isCrowd(seed) && scenario.day === undefined) return result;
  const hurt = await neighboursHurt(scenario, waits);
  return { ...result, violations: [...result.violations, ...hurt] };
}

if (process.send !== undefined && import.meta.main)
  process.on('message', (seed: number) => {
    const before = process.cpuUsage();
    void runSeed(seed).then((result) => {
      const { user, system } = process.cpuUsage(before);
      process.send?.({ seed, result, cpuMs: (user + system) / 1_000 } satisfies SeedRun);
    });
  });
