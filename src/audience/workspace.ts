import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, type Database } from './database.ts';

/** Where one run of a sync keeps its tables and files; it is gone when the run has ended. */
export interface Workspace {
  readonly database: Database;
  /** A file of this name that no other run uses. */
  file(name: string): string;
  /** False when a newer run of the same name has removed it. */
  isThere(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * What killed runs of the same name left behind is removed, and what the older of two that run has: only
 * the newer has a right to.
 *
 * @param directory undefined: the system's folder for temporary files
 */
export async function openWorkspace(
  directory: string | undefined,
  name: string,
): Promise<Workspace> {
  const parent =
    directory === undefined
      ? await mkdtemp(join(tmpdir(), 'postrider-'))
      : join(directory, `${name}.work`);
  await rm(parent, { recursive: true, force: true });
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, 'run-'));
  const database = await openDatabase(join(folder, 'scratch.duckdb'), folder);
  return {
    database,
    file: (file) => join(folder, file),
    isThere: () =>
      stat(folder).then(
        () => true,
        () => false,
      ),
    close: async () => {
      database.close();
      await rm(directory === undefined ? parent : folder, { recursive: true, force: true });
    },
  };
}
