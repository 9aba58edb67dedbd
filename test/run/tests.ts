import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Job } from './job.ts';

/** The first line of a test file that cannot share a process with others. */
const apart = /^\/\/ Runs in a process of its own: /;
/** A group of more files would be the last to end. */
const mostInGroup = 25;

/**
 * Files on a broker, and folders of unit tests, that take longest, from the longest on (`--times` tells).
 * They begin first, so that none of them is left alone at the end.
 */
export const slowest: readonly string[] = [
  'test/security/secured.kafka.ts',
  'test/e2e/pause.kafka.ts',
  'test/e2e/real-audiences.kafka.ts',
  'test/upgrade/upgrade.kafka.ts',
  'test/e2e/dev.kafka.ts',
  'test/bad-days/bad-days.kafka.ts',
  'test/e2e/status.kafka.ts',
  'test/audience/killed.kafka.ts',
  'test/e2e/notices.kafka.ts',
  'test/dead-letter/interrupted.kafka.ts',
  'test/e2e/redrive.kafka.ts',
  'test/release/installed.kafka.ts',
  'test/lab',
  'test/console',
  'test/simulation',
  'test/kafka',
  'test/cli',
];

export function unitFiles(): string[] {
  return globSync('test/**/*.test.ts').sort();
}

export function brokerFiles(): string[] {
  return globSync('test/**/*.kafka.ts').sort();
}

/** Jobs for unit tests: most share a process with their neighbors, since a process costs more than they do. */
export function unitJobs(files: readonly string[]): Job[] {
  const alone: string[] = [];
  const groups = new Map<string, string[]>();
  for (const file of files) {
    if (apart.test(readFileSync(file, 'utf8'))) alone.push(file);
    else {
      const folder = dirname(file).split('/').slice(0, 2).join('/');
      const group = groups.get(folder);
      if (group === undefined) groups.set(folder, [file]);
      else group.push(file);
    }
  }
  return slowestFirst([
    ...alone.map((file) => testJob(file, 'processor', [file])),
    ...[...groups].flatMap(([folder, all]) =>
      chunks(all).map((some) => testJob(folder, 'processor', some)),
    ),
  ]);
}

export function brokerJobs(files: readonly string[]): Job[] {
  return slowestFirst(files.map((file) => testJob(file, 'broker', [file])));
}

function slowestFirst(jobs: readonly Job[]): Job[] {
  const rank = ({ name }: Job): number => {
    const place = slowest.indexOf(name);
    return place < 0 ? slowest.length : place;
  };
  return [...jobs].sort((a, b) => rank(a) - rank(b));
}

function testJob(name: string, kind: Job['kind'], files: readonly string[]): Job {
  return { name, kind, args: files, files };
}

function chunks(files: readonly string[]): string[][] {
  const count = Math.ceil(files.length / mostInGroup);
  return Array.from({ length: count }, (_, at) => files.filter((_, index) => index % count === at));
}
