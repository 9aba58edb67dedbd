import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What a process has used until now. */
export interface Usage {
  /** In user and system mode, of all its threads. */
  readonly cpuUs: number;
  /** Resident now. */
  readonly rssBytes: number;
}

/** Of these processes together, from Linux's /proc. @throws Error where one of them has ended. */
export function usageOf(pids: readonly number[]): Usage {
  const usages = pids.map((pid) =>
    parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'), systemUnits()),
  );
  return {
    cpuUs: usages.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
    rssBytes: usages.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
  };
}

/** In which /proc counts. */
export interface Units {
  readonly ticksPerSecond: number;
  readonly pageBytes: number;
}

/**
 * A line of /proc/PID/stat (proc_pid_stat(5)). The second field is the program's name in brackets, and may
 * itself hold blanks and brackets, so that fields are counted from the last bracket.
 * @throws Error for a line that is none
 */
export function parseStat(line: string, { ticksPerSecond, pageBytes }: Units): Usage {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  const usage = {
    cpuUs: ((field(14) + field(15)) / ticksPerSecond) * 1_000_000,
    rssBytes: field(24) * pageBytes,
  };
  if (!Number.isFinite(usage.cpuUs) || !Number.isFinite(usage.rssBytes))
    throw new Error(`no line of /proc/PID/stat: ${line}`);
  return usage;
}

let units: Units | undefined;

function systemUnits(): Units {
  units ??= { ticksPerSecond: getconf('CLK_TCK'), pageBytes: getconf('PAGESIZE') };
  return units;
}

function getconf(name: string): number {
  return Number(execFileSync('getconf', [name], { encoding: 'utf8' }));
}
