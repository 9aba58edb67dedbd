import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { useCompileCache } from './compile-cache.ts';

/**
 * What the unit tests and, after them, the tests on a broker could not check for want of a program.
 * In a file, because every test file runs in a process of its own.
 */
const file = resolve('.cache/not-checked');

export function noteNotChecked(title: string, program: string, install: string): void {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `- ${title}\n    needs ${program}: ${install}\n`);
}

/** Nothing where everything was checked. */
export function printNotChecked(): void {
  if (!existsSync(file)) return;
  process.stdout.write(`\nNot checked:\n${readFileSync(file, 'utf8')}`);
}

/** Node's test runner calls these two around the unit tests. */
export function globalSetup(): void {
  useCompileCache();
  rmSync(file, { force: true });
}

export function globalTeardown(): void {
  printNotChecked();
}
