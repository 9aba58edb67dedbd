import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Job } from './job.ts';

/** The first line of a test file that cannot share a process with others. */
const apart = /^\/\/ Runs in a process of its own: /;
/** A group of more files would be the last to end. */
const mostInGroup = 25;

/**
 * Files on a broker that take longest, from the longest on. They begin first, so that none of them is
 * left alone at the end.
 */
const slowestOnBroker: readonly string[] = [];

export function unitFiles(): string[] {
  return globSync('test/**/*.test.ts').sort();
}

export function brokerFiles(): string[] {
  const rank = new Map(slowestOnBroker.map((file, index) => [file, index]));
  const files = globSync('test/**/*.kafka.ts').sort();
  const unknown = slowestOnBroker.filter((file) => !files.includes(file));
  if (unknown.length > 0)
    throw new Error(`test/run/tests.ts names ${unknown.join(', ')}, which is not there`);
  return files.sort((a, b) => (rank.get(a) ?? Infinity) - (rank.get(b) ?? Infinity) || 0);
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
  return [
    ...alone.map((file) => testJob(file, 'processor', [file])),
    ...[...groups].flatMap(([folder, all]) =>
      chunks(all).map((some) => testJob(folder, 'processor', some)),
    ),
  ];
}

export function brokerJobs(files: readonly string[]): Job[] {
  return files.map((file) => testJob(file, 'broker', [file]));
}

function testJob(name: string, kind: Job['kind'], files: readonly string[]): Job {
  return { name, kind, args: files, files };
}

function chunks(files: readonly string[]): string[][] {
  const count = Math.ceil(files.length / mostInGroup);
  return Array.from({ length: count }, (_, at) => files.filter((_, index) => index % count === at));
}
