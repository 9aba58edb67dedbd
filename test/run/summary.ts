import { relative } from 'node:path';
import { tableText } from '../harness/markdown-table.ts';
import type { JobResult } from './job.ts';

const mostDear = 8;

/** A line for a job that has ended, with the report of what failed. */
export function lineOf({ job, passed, wallS, output }: JobResult): string {
  const files = job.files.length > 1 ? ` (${job.files.length} files)` : '';
  const line = `${passed ? '✔' : '✖'} ${job.name}${files} ${wallS.toFixed(1)} s`;
  return passed ? line : `${line}\n${output}\n`;
}

/**
 * The last lines of a run.
 * @param times whether the table of times has all jobs, with their files, or the dearest only
 */
export function summaryOf(
  results: readonly JobResult[],
  times: 'all' | 'dearest',
  wallS: number,
): string {
  const reports = results.flatMap(({ report }) => report ?? []);
  const sum = (of: 'passed' | 'failed' | 'skipped'): number =>
    reports.reduce((total, report) => total + report[of], 0);
  const cpuS = results.reduce((total, result) => total + (result.cpuS || 0), 0);
  const failed = results.filter((result) => !result.passed).map(({ job }) => job.name);
  // A process that ended before its tests, or a checker, counts as one that failed.
  const untold = results.filter((result) => !result.passed && (result.report?.failed ?? 0) === 0);
  const rows = [...results]
    .sort((a, b) => (b.cpuS || 0) - (a.cpuS || 0) || b.wallS - a.wallS)
    .slice(0, times === 'all' ? Infinity : mostDear)
    .flatMap((result) =>
      times === 'all' ? [rowOf(result), ...fileRowsOf(result)] : [rowOf(result)],
    );
  return [
    '',
    tableText({ columns: ['', 'began at', 'wall s', 'CPU s'], rows }),
    '',
    `${wallS.toFixed(0)} s, ${cpuS.toFixed(0)} s of CPU beside the shared broker`,
    ...(failed.length > 0 ? [`failed: ${failed.join(', ')}`] : []),
    `${sum('passed')} passed, ${sum('failed') + untold.length} failed, ${sum('skipped')} skipped`,
  ].join('\n');
}

function rowOf({ job, startedS, wallS, cpuS }: JobResult): string[] {
  return [job.name, startedS.toFixed(0), wallS.toFixed(1), cpuS.toFixed(1)];
}

/** A row for each file that shares a process with others: their CPU time is known together only. */
function fileRowsOf({ job, report }: JobResult): string[][] {
  const files = job.files.length > 1 ? Object.entries(report?.filesMs ?? {}) : [];
  return files.map(([file, ms]) => [`- ${relative('', file)}`, '', (ms / 1000).toFixed(1), '']);
}
