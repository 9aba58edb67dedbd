import { resolve } from 'node:path';

const variable = 'NODE_COMPILE_CACHE';

/** Hundreds of processes of a run load the same sources: what one has compiled, the others read. */
export function useCompileCache(): void {
  process.env[variable] ??= resolve('.cache/compiled');
}

/** For a process that gets an environment of its own. */
export function compileCache(): Record<string, string> {
  const folder = process.env[variable];
  return folder === undefined ? {} : { [variable]: folder };
}
