import process from 'node:process';
import { environment } from '../environment.ts';

export type DebugLog = (line: string) => void;

/** With `DEBUG=analytics` in the environment (a list of names, or `*`), lines on stderr. */
export function debugLog(): DebugLog | undefined {
  if (!isNamed(environment['DEBUG'] ?? '')) return undefined;
  return (line) => {
    process.stderr.write(`analytics ${new Date().toISOString()} ${line}\n`);
  };
}

export function isNamed(debug: string): boolean {
  return debug.split(/[\s,]+/).some((name) => name === 'analytics' || name === '*');
}
