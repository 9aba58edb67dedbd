import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PostriderError } from '../errors.ts';

/**
 * Takes a data folder for this process, before a broker writes to it: a second one corrupts its log before
 * Kafka notices. Resolves with how to give it back; a process that is gone holds nothing.
 * @throws PostriderError `broker-unavailable` while another process uses the folder
 */
export async function lockDataDir(dataDir: string): Promise<() => Promise<void>> {
  const file = join(dataDir, 'used-by');
  await mkdir(dataDir, { recursive: true }).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `the data folder ${dataDir} cannot be made: ${reason}`;
    throw new PostriderError('broker-unavailable', message, { cause });
  });
  const holder = Number(await readFile(file, 'utf8').catch(() => ''));
  if (holder > 0 && holder !== process.pid && isAlive(holder)) {
    const message = `the data folder ${dataDir} is used by process ${holder}; end it or name another`;
    throw new PostriderError('broker-unavailable', message);
  }
  await writeFile(file, `${process.pid}\n`);
  return () => rm(file, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
