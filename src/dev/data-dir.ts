import { constants } from 'node:fs';
import { access, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { asError, PostriderError } from '../errors.ts';

/** A data folder that belongs to this process. */
export interface HeldDataDir {
  /** The last process that held it ended without giving it back. */
  readonly wasLeft: boolean;
  release(): Promise<void>;
}

/** @throws PostriderError `broker-unavailable` for a folder that cannot be made, or not be written to */
export async function requireDataDir(dataDir: string): Promise<void> {
  try {
    await makeFolder(resolve(dataDir));
    await access(dataDir, constants.W_OK);
  } catch (cause) {
    const reason = asError(cause).message;
    const message = `the data folder ${dataDir} cannot be written to: ${reason}`;
    throw new PostriderError('broker-unavailable', message, { cause });
  }
}

/**
 * Takes a data folder for this process, before a broker writes to it: a second one corrupts its log before
 * Kafka notices. A process that is gone holds nothing.
 * @throws PostriderError `broker-unavailable` while another process uses the folder
 */
export async function holdDataDir(dataDir: string): Promise<HeldDataDir> {
  await requireDataDir(dataDir);
  const file = join(dataDir, 'used-by');
  const holder = Number(await readFile(file, 'utf8').catch(() => ''));
  if (holder > 0 && holder !== process.pid && isAlive(holder)) {
    const message = `the data folder ${dataDir} is used by process ${holder}; end it or name another`;
    throw new PostriderError('broker-unavailable', message);
  }
  await writeFile(file, `${process.pid}\n`);
  return { wasLeft: holder > 0, release: () => rm(file, { force: true }) };
}

/** With those above it. Node's own `recursive` never ends in a folder that takes none, such as /proc. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await mkdir(folder);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
