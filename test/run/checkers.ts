import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Job } from './job.ts';

/**
 * Jobs of the checkers. On a developer's machine, lint and format look only at files that changed since
 * they were right. Lint then misses what a change does to files that did not change, so CI looks at all.
 * @param paths folders and files to look at; none: everything
 */
export function checkerJobs(paths: readonly string[]): Job[] {
  const cached = (name: string): string[] =>
    (process.env['CI'] ?? '') === ''
      ? ['--cache', '--cache-location', `.cache/${name}`, '--cache-strategy', 'content']
      : [];
  const where = paths.length === 0 ? ['.'] : paths;
  const lint = checker('lint', 'eslint/bin/eslint.js', [...where, ...cached('eslint')]);
  const types = checker('types', 'typescript/bin/tsc', [
    '-p',
    '.',
    '--incremental',
    '--tsBuildInfoFile',
    '.cache/types.tsbuildinfo',
  ]);
  const format = checker('format', 'prettier/bin/prettier.cjs', [
    '--check',
    '--log-level=warn',
    ...where,
    ...cached('prettier'),
  ]);
  if (paths.length > 0) return [lint, types, format];
  return [
    lint,
    types,
    format,
    checker('types of the pages', 'typescript/bin/tsc', ['-p', 'src/console/web']),
    checker('unused code', 'knip/bin/knip.js', []),
  ];

  function checker(name: string, bin: string, args: readonly string[]): Job {
    const path = join('node_modules', bin);
    if (!existsSync(path)) throw new Error(`${path} is missing: run npm ci`);
    return { name, kind: 'processor', args: [path, ...args], files: [] };
  }
}
