import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface LimitedRun {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Of the process and its children. */
  readonly mostCpuMs: number;
}

export interface RunEnd {
  /** `hung`: it used too much CPU time, none for long, or ran for far too long. */
  readonly how: 'passed' | 'failed' | 'hung';
  readonly cpuMs: number;
  /** The last of what it wrote. */
  readonly output: string;
}

const lookMs = 250;
/** No test waits this long for something outside of it. Wall time, as such a process uses no CPU time. */
const longestIdleMs = 30_000;
const idleCpuMs = 50;
/** For one that looks every few milliseconds for what never comes. */
const longestMs = 900_000;
const keptOutput = 20_000;
const ticksPerSecond = 100;

/** Runs Node until it ends or is beyond its limits. Nothing it started is left. CPU time is measured on Linux only. */
export async function runLimited({ args, env, mostCpuMs }: LimitedRun): Promise<RunEnd> {
  const child = spawn(process.execPath, args, {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid ?? 0;
  const startedMs = performance.now();
  let output = '';
  let cpuMs = 0;
  let active = { cpuMs: 0, atMs: startedMs };
  let hung = false as boolean;
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-keptOutput);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const watch = setInterval(() => {
    cpuMs = Math.max(cpuMs, cpuOf(pid));
    const nowMs = performance.now();
    if (cpuMs - active.cpuMs >= idleCpuMs) active = { cpuMs, atMs: nowMs };
    hung =
      cpuMs > mostCpuMs || nowMs - active.atMs > longestIdleMs || nowMs - startedMs > longestMs;
    if (hung) endGroup(pid);
  }, lookMs);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  clearInterval(watch);
  endGroup(pid);
  return { how: hung ? 'hung' : code === 0 ? 'passed' : 'failed', cpuMs, output };
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

function cpuOf(pid: number): number {
  try {
    // Behind the name in brackets: field 3. User and system time, and that of children that have ended.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    return children
      .filter((child) => child !== '')
      .reduce((sum, child) => sum + cpuOf(Number(child)), (ticks * 1_000) / ticksPerSecond);
  } catch {
    return 0;
  }
}
