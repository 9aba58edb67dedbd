import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, type Database } from './database.ts';

/** Where one run of a sync keeps its tables and files; it is gone when the run has ended. */
export interface Workspace {
  readonly database: Database;
  /** A file of this name that no other run uses. */
  file(name: string): string;
  close(): Promise<void>;
}

/**
 * What killed runs of the same name left behind is removed: only one sync of an audience has a right to
 * run, and the older of two loses nothing by it but its checkpoint.
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
    close: async () => {
      database.close();
      await rm(directory === undefined ? parent : folder, { recursive: true, force: true });
    },
  };
}
