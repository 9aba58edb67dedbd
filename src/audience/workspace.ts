import { mkdir, mkdtemp, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Topology } from '../topology.ts';
import { topicOfCheckpoint } from './checkpoint.ts';
import { openDatabase, type Database } from './database.ts';

/** The tables and files of one run of a sync; removed when the run has ended. */
export interface Workspace {
  readonly database: Database;
  /** The path of a file of this name that no other run uses. */
  file(name: string): string;
  /** The checkpoint, which makes the next sync fast; undefined: none is kept. */
  readonly checkpoint: string | undefined;
  close(): Promise<void>;
}

export interface WorkspaceOptions {
  /** A name for the deployment and the audience. */
  readonly name: string;
  /** Undefined: the system's folder for temporary files, and no checkpoint. */
  readonly directory: string | undefined;
  /** The folder that lists are read from, after links are followed. */
  readonly filesDir: string;
}

/** The folder contains user ids. */
const ownerOnly = 0o700;
const scratchName = 'scratch.duckdb';
const checkpointName = 'checkpoint.duckdb';
/** A run that has just begun has no database yet. */
const youngMs = 60_000;
/** Within one process, a file's lock does not distinguish runs. */
const ownFolders = new Set<string>();

/** Removes what killed runs have left. A live run keeps its files until Kafka has stopped it. */
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
    checkpoint: directory === undefined ? undefined : path.join(parent, checkpointName),
    close: async () => {
      database.close();
      await rm(folder, { recursive: true, force: true });
      ownFolders.delete(folder);
    },
  };
}

/**
 * Removes the data of audiences and computed traits that no longer exist, because checkpoints contain user
 * data. Folders that hold anything else stay, and so do those of another deployment, whose prefix may begin
 * with ours.
 */
export async function removeUnknown(
  directory: string,
  topology: Pick<Topology, 'prefix'> & {
    readonly topics: Pick<Topology['topics'], 'audienceMembers'>;
  },
  isKnown: (id: string) => boolean,
): Promise<void> {
  const { prefix, topics } = topology;
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isDirectory() || !entry.name.startsWith(prefix)) continue;
    const id = entry.name.slice(prefix.length);
    if (!/^[a-z0-9][a-z0-9-]*$/.test(id) || isKnown(id)) continue;
    await removeIfOurs(path.join(directory, entry.name), topics.audienceMembers);
  }
}

/** A damaged checkpoint does not say whose it is, and is of use to nobody. */
async function removeIfOurs(folder: string, membersTopic: string): Promise<void> {
  const runs: string[] = [];
  for (const entry of await readdir(folder)) {
    const file = path.join(folder, entry);
    if (entry === checkpointName) continue;
    if (!entry.startsWith('run-') || !(await isRun(file))) return;
    runs.push(file);
  }
  const checkpoint = path.join(folder, checkpointName);
  const topic = await topicOfCheckpoint(checkpoint);
  if (topic !== undefined && topic !== membersTopic) return;
  await rm(checkpoint, { force: true });
  for (const run of runs) await removeIfDead(run);
  // A live run keeps its folder.
  await rmdir(folder).catch(() => undefined);
}

async function isRun(folder: string): Promise<boolean> {
  const entries = await readdir(folder).catch(() => ['no folder']);
  return entries.length === 0 || entries.includes(scratchName);
}

/** Files with the names of earlier releases, which others could read. */
async function removeFormer(directory: string, name: string): Promise<void> {
  for (const former of [`${name}.duckdb`, `${name}.work`])
    await rm(path.join(directory, former), { recursive: true, force: true });
}

/** A live run has a lock on its database, also if it runs in another pod. */
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
