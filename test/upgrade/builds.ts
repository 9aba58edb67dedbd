import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readLevel } from '../../src/event/formats.ts';

/** Builds of three releases, each with a `src/cli/main.ts`. They find their modules in the folders above. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, '.cache', 'upgrade');

/** What `pack-release.ts` writes. */
export const releaseFile: string = fileURLToPath(new URL('release.tar.gz', import.meta.url));

/** The sources of now. */
export const presentBuild: string = root;

/** The release before. Gives its folder. */
export async function releasedBuild(): Promise<string> {
  const digest = createHash('sha256').update(await readFile(releaseFile));
  const build = join(folder, `released-${digest.digest('hex').slice(0, 12)}`);
  const made = `${build}.${process.pid}`;
  await mkdir(made, { recursive: true });
  await promisify(execFile)('tar', ['-xzf', releaseFile, '-C', made]);
  // What a former run has unpacked is the same, and known to the cache of compiled code by its path.
  await rename(made, build).catch(() => rm(made, { recursive: true }));
  return build;
}

const formatTable = /^const formats: readonly EventFormat\[\] = \[(.*)\];$/m;
const writtenLevel = /^const newestWritten = \d+;$/m;

/** The release after the next: the sources of now with one level more in the table of formats, which it writes. */
export async function laterBuild(): Promise<string> {
  const build = join(folder, 'later');
  await rm(build, { recursive: true, force: true });
  await mkdir(build, { recursive: true });
  const isNeeded = (path: string): boolean => !/src\/(?:client|dev\/data|console\/web)$/.test(path);
  await cp(join(root, 'src'), join(build, 'src'), { recursive: true, filter: isNeeded });
  await cp(join(root, 'package.json'), join(build, 'package.json'));
  const file = join(build, 'src', 'event', 'formats.ts');
  const source = await readFile(file, 'utf8');
  if (!formatTable.test(source) || !writtenLevel.test(source))
    throw new Error('src/event/formats.ts has no table of formats that a level can be added to');
  const level = readLevel + 1;
  const [envelope, bundle] = [laterEnvelope, laterBundle];
  const added = `{ level: ${level}, envelope: ${envelope}, bundle: ${bundle} }`;
  await writeFile(
    file,
    source
      .replace(formatTable, `const formats: readonly EventFormat[] = [$1, ${added}];`)
      .replace(writtenLevel, `const newestWritten = ${level};`),
  );
  return build;
}

/** What that release writes, and no other knows. */
export const laterEnvelope = 101;
export const laterBundle = 102;
