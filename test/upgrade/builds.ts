import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The programs of three releases. They find their modules in the folders above. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, '.cache', 'upgrade');

/** What `pack-release.ts` writes: the roles of the release before, from its package. */
export const releaseFile: string = fileURLToPath(new URL('release.tar.gz', import.meta.url));

/** The release before, as it was published. */
export async function releasedProgram(): Promise<string> {
  const digest = createHash('sha256').update(await readFile(releaseFile));
  const build = join(folder, `released-${digest.digest('hex').slice(0, 12)}`);
  const made = `${build}.${process.pid}`;
  await mkdir(made, { recursive: true });
  await promisify(execFile)('tar', ['-xzf', releaseFile, '-C', made]);
  // What a former run has unpacked is the same, and known to the cache of compiled code by its path.
  await rename(made, build).catch(() => rm(made, { recursive: true }));
  return join(build, 'package', 'dist', 'cli', 'main.js');
}

/** The release after the next: the sources of now, which write another format, and read both. */
export async function laterProgram(): Promise<string> {
  const build = join(folder, 'later');
  await rm(build, { recursive: true, force: true });
  await mkdir(build, { recursive: true });
  const isNeeded = (path: string): boolean => !/src\/(?:client|dev\/data|console\/web)$/.test(path);
  await cp(join(root, 'src'), join(build, 'src'), { recursive: true, filter: isNeeded });
  await cp(join(root, 'package.json'), join(build, 'package.json'));
  const envelope = join(build, 'src', 'event', 'envelope.ts');
  await replace(
    envelope,
    'const envelopeVersion = 1;',
    `const envelopeVersion = ${laterEnvelope};`,
  );
  await replace(
    envelope,
    'export const bundleVersion = 2;',
    `export const bundleVersion = ${laterBundle};`,
  );
  await replace(
    envelope,
    "json?.['v'] !== envelopeVersion",
    "![1, envelopeVersion].includes(json?.['v'] as number)",
  );
  const bundle = join(build, 'src', 'delivery', 'bundle', 'format.ts');
  await replace(
    bundle,
    "json?.['v'] !== bundleVersion",
    "![2, bundleVersion].includes(json?.['v'] as number)",
  );
  return join(build, 'src', 'cli', 'main.ts');
}

async function replace(file: string, found: string, by: string): Promise<void> {
  const source = await readFile(file, 'utf8');
  if (!source.includes(found)) throw new Error(`${file} does not have: ${found}`);
  await writeFile(file, source.replace(found, by));
}

/** What that release writes, and no other knows. */
export const laterEnvelope = 101;
export const laterBundle = 102;
