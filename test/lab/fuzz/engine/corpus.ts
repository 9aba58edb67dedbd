import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Inputs that broke a rule once. The test feeds them again. */
function folderOf(target: string): string {
  return fileURLToPath(new URL(`../corpus/${target}/`, import.meta.url));
}

/** Keeps an input for the target; returns its file. */
export function saveInput(target: string, input: Buffer): string {
  const folder = folderOf(target);
  mkdirSync(folder, { recursive: true });
  const file = `${folder}${createHash('sha256').update(input).digest('hex').slice(0, 12)}`;
  writeFileSync(file, input);
  return file;
}

/** What was kept for the target, by file name. */
export function keptInputs(target: string): ReadonlyMap<string, Buffer> {
  const folder = folderOf(target);
  const names = existsSync(folder) ? readdirSync(folder).sort() : [];
  return new Map(names.map((name) => [name, readFileSync(folder + name)]));
}
