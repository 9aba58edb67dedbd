import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Whoever loads this module of kafkajs from now on gets the substitute. */
export function replaceModule<T>(path: string, substitute: (original: T) => T): void {
  const original = require(path) as T;
  const module = require.cache[require.resolve(path)];
  if (module !== undefined) module.exports = substitute(original);
}
