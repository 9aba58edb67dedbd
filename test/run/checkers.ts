import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Job } from './job.ts';

/**
 * Jobs of the checkers. On a developer's machine, lint and format look only at files that changed since
 * they were right. Lint then misses what a change does to files that did not change, so CI looks at all.
 * @param paths folders and files to look at; none: everything
 */
export function checkerJobs(paths: readonly string[]): Job[] {
  const isCached = (process.env['CI'] ?? '') === '';
  const where = paths.length === 0 ? ['.'] : paths;
  const own = ['test/run/types-and-lint.ts', ...(isCached ? ['--cached'] : []), ...where];
  const cached = ['--cache', '--cache-location', '.cache/prettier', '--cache-strategy', 'content'];
  return [
    checker('types and lint', own),
    checker('format', [
      program('prettier/bin/prettier.cjs'),
      ...['--check', '--log-level=warn', ...where, ...(isCached ? cached : [])],
    ]),
    ...(paths.length === 0 ? [checker('unused code', [program('knip/bin/knip.js')])] : []),
  ];
}

function checker(name: string, args: readonly string[]): Job {
  return { name, kind: 'processor', args, files: [] };
}

function program(bin: string): string {
  const path = join('node_modules', bin);
  if (!existsSync(path)) throw new Error(`${path} is missing: run npm ci`);
  return path;
}
