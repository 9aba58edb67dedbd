import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { openDatabase, type Database } from './database.ts';

/** Where one run of a sync keeps its tables and files; it is gone when the run has ended. */
export interface Workspace {
  readonly database: Database;
  /** A file of this name that no other run uses. */
  file(name: string): string;
  /** What makes the next sync fast; undefined: nothing is kept. */
  readonly checkpoint: string | undefined;
  close(): Promise<void>;
}

export interface WorkspaceOptions {
  /** Of the deployment and the audience. */
  readonly name: string;
  /** Undefined: the system's folder for temporary files, and no checkpoint. */
  readonly directory: string | undefined;
  /** The folder that lists are read from, where its links lead. */
  readonly filesDir: string;
}

/** User ids are in it. */
const ownerOnly = 0o700;
const scratchName = 'scratch.duckdb';
/** A run that has just begun has no database yet. */
const youngMs = 60_000;
/** Kafka tells runs of one process apart, a file's lock does not. */
const ownFolders = new Set<string>();

/** What killed runs have left behind is removed; a run that lives keeps what it has until Kafka has stopped it. */
export async function openWorkspace(options: WorkspaceOptions): Promise<Workspace> {
  const { name, directory, filesDir } = options;
  const parent = directory === undefined ? tmpdir() : path.join(directory, name);
  const prefix = directory === undefined ? `postrider-${name}-run-` : 'run-';
  if (directory !== undefined) {
    await mkdir(parent, { recursive: true, mode: ownerOnly });
    await removeFormer(directory, name);
  }
  for (const entry of await readdir(parent))
    if (entry.startsWith(prefix)) await removeIfDead(path.join(parent, entry));
  const folder = await mkdtemp(path.join(parent, prefix));
  ownFolders.add(folder);
  const database = await openDatabase(path.join(folder, scratchName), folder, [filesDir]);
  return {
    database,
    file: (file) => path.join(folder, file),
    checkpoint: directory === undefined ? undefined : path.join(parent, 'checkpoint.duckdb'),
    close: async () => {
      database.close();
      await rm(folder, { recursive: true, force: true });
      ownFolders.delete(folder);
    },
  };
}

/** Of audiences and computed traits that are no more: the checkpoints are users' data. */
export async function removeUnknown(
  directory: string,
  prefix: string,
  isKnown: (id: string) => boolean,
): Promise<void> {
  for (const entry of await readdir(directory).catch(() => [])) {
    const [, id] = entry.startsWith(prefix)
      ? (/^([a-z0-9][a-z0-9-]*)$/.exec(entry.slice(prefix.length)) ?? [])
      : [];
    if (id !== undefined && !isKnown(id))
      await rm(path.join(directory, entry), { recursive: true, force: true });
  }
}

/** As versions before this one named them, readable by others. */
async function removeFormer(directory: string, name: string): Promise<void> {
  for (const former of [`${name}.duckdb`, `${name}.work`])
    await rm(path.join(directory, former), { recursive: true, force: true });
}

/** Whoever lives has a lock on its database, also from another pod. */
async function removeIfDead(folder: string): Promise<void> {
  if (ownFolders.has(folder)) return;
  const scratch = path.join(folder, scratchName);
  try {
    const begun = await stat(scratch).catch(() => stat(folder));
    const isYoung = begun.isDirectory() && Date.now() - begun.mtimeMs < youngMs;
    if (isYoung) return;
    if (begun.isFile()) (await DuckDBInstance.create(scratch)).closeSync();
  } catch (error) {
    if (error instanceof Error && /lock/i.test(error.message)) return;
  }
  await rm(folder, { recursive: true, force: true }).catch(() => undefined);
}
