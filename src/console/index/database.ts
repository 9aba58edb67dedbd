import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { DuckDBInstance, type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api';
import { asError, PostriderError } from '../../errors.ts';
import type { Logger } from '../../ops/log.ts';
import type { ConsoleMetrics } from '../metrics.ts';
import {
  attemptsTable,
  createTableSql,
  lettersTable,
  offsetsTable,
  plainTables,
  rejectedTable,
  schemaVersion,
  sentAgainTable,
  wordsTable,
} from './schema.ts';

/** Beyond its buffers, DuckDB takes as much again. Node, with batches and pages, takes 200 MB. */
const limits = {
  memory_limit: '100MB',
  threads: '2',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
};

const fileName = 'console.duckdb';

export interface IndexDatabase {
  /** Its path. */
  readonly file: string;
  /** The only one that writes. */
  readonly writer: DuckDBConnection;
  /** The rows of a query, by column; a reader sees what is committed, and holds up no writer. */
  rows<Row>(sql: string, values?: Readonly<Record<string, DuckDBValue>>): Promise<readonly Row[]>;
  /** Resolves when nobody holds the file: two that write to it, of one process too, break it. */
  close(): Promise<void>;
}

/**
 * Opens the file of a folder, which is made if there is none. One that is broken, or not of this version, is
 * removed: everything in it comes from Kafka.
 * @throws PostriderError `busy` while another process has it open; `setting-invalid` for a folder that cannot be used
 */
export async function openIndexDatabase(
  dir: string,
  { log, metrics }: { readonly log: Logger; readonly metrics: ConsoleMetrics },
): Promise<IndexDatabase> {
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    throw new PostriderError(
      'setting-invalid',
      `CONSOLE_DATA_DIR is ${dir}, which cannot be written to (${asError(cause).message}); allowed: a folder of the console's own`,
      { cause },
    );
  });
  const file = path.join(dir, fileName);
  try {
    return await openOurs(file);
  } catch (error) {
    if (isLocked(error))
      throw new PostriderError(
        'busy',
        `${file} is open in another process; each console needs a CONSOLE_DATA_DIR of its own`,
        { cause: error },
      );
    if (typeOf(error).type === 'IO' && !isUnusable(error))
      throw new PostriderError(
        'setting-invalid',
        `CONSOLE_DATA_DIR is ${dir}, whose index cannot be opened (${asError(error).message}); allowed: a folder of the console's own, with free space`,
        { cause: error },
      );
    if (!isUnusable(error)) throw error;
    log.warn(
      { file, reason: asError(error).message },
      'the index cannot be used; it is made again from Kafka',
    );
    metrics.remade();
    await removeIndex(dir);
    return openOurs(file);
  }
}

export async function removeIndex(dir: string): Promise<void> {
  const file = path.join(dir, fileName);
  for (const name of [file, `${file}.wal`, `${file}.tmp`])
    await rm(name, { recursive: true, force: true });
}

/** DuckDB has given up the database, or cannot make sense of what it has read. */
const givenUp: ReadonlySet<string> = new Set(['FATAL', 'INTERNAL', 'Serialization']);
/** Types of errors of which only some messages are about a file that is damaged or that a newer DuckDB has written. */
const ofFiles: ReadonlySet<string> = new Set(['IO', 'TransactionContext']);
const damaged =
  /corrupt|not a valid duckdb database|could not read enough bytes|with version number|storage version|wal of version|input\/output error/i;
/** A person or another process has to mend this, and then the file is as good as before. */
const surroundings =
  /no space left|quota exceeded|file too large|too many open files|permission denied|read-only file system|cannot allocate memory|could not allocate/i;

/**
 * True if the file itself is wrong, so that it has to be made again. DuckDB's binding has no codes: the
 * message begins with the type of the error. What follows may hold values of a query.
 */
export function isUnusable(error: unknown): boolean {
  if (error instanceof OtherVersion) return true;
  const { type, text } = typeOf(error);
  if (givenUp.has(type)) return !surroundings.test(text);
  return ofFiles.has(type) && damaged.test(text);
}

/** `text` is without the path of the file, which may hold any word. */
function typeOf(error: unknown): { readonly type: string; readonly text: string } {
  const message = asError(error).message.replace(/"[^"]*\bconsole\.duckdb[^"]*"/g, '');
  const [, type = '', text = ''] = /^(\w[\w ]*) Error: (.*)$/s.exec(message) ?? [];
  return { type, text };
}

class OtherVersion extends Error {
  override readonly message = 'the file is of another version';
}

function isLocked(error: unknown): boolean {
  return /could not set lock|conflicting lock/i.test(asError(error).message);
}

async function openOurs(file: string): Promise<IndexDatabase> {
  const instance = await DuckDBInstance.create(file, {
    ...limits,
    temp_directory: `${file}.tmp`,
  });
  const writer = await instance.connect();
  // DuckDB lets go of a file, and writes to it for the last time, once the last connection is closed too.
  const release = (): void => {
    writer.closeSync();
    instance.closeSync();
  };
  try {
    await writer.run(
      'set enable_external_access = false; set preserve_insertion_order = true; set lock_configuration = true',
    );
    await requireSchema(writer);
  } catch (error) {
    release();
    throw error;
  }
  const readings = new Set<Promise<unknown>>();
  let isClosed = false;
  return {
    file,
    writer,
    rows: async <Row>(sql: string, values?: Readonly<Record<string, DuckDBValue>>) => {
      if (isClosed) throw new Error('the index is closed');
      const reading = rowsOf<Row>(instance, sql, values);
      readings.add(reading);
      return reading.finally(() => readings.delete(reading));
    },
    close: async () => {
      isClosed = true;
      await Promise.allSettled(readings);
      release();
    },
  };
}

async function rowsOf<Row>(
  instance: DuckDBInstance,
  sql: string,
  values?: Readonly<Record<string, DuckDBValue>>,
): Promise<readonly Row[]> {
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(sql, values);
    return reader.getRowObjectsJS() as Row[];
  } finally {
    connection.closeSync();
  }
}

async function requireSchema(writer: DuckDBConnection): Promise<void> {
  const tables = await writer.runAndReadAll('select table_name from duckdb_tables()');
  if (tables.currentRowCount === 0) {
    const statements = [
      createTableSql(attemptsTable),
      createTableSql(lettersTable),
      createTableSql(rejectedTable),
      createTableSql(sentAgainTable),
      createTableSql(wordsTable),
      createTableSql(offsetsTable),
      ...plainTables,
      // Beyond whatever a former file had, so that who asks for what is newer than a `seq` of it gets it.
      `insert into facts values ('schema', ${schemaVersion}), ('counted', ${Date.now() * 1_000})`,
    ];
    await writer.run(`begin; ${statements.join('; ')}; commit`);
    return;
  }
  if (!tables.getRows().some(([name]) => name === 'facts')) throw new OtherVersion();
  const found = await writer.runAndReadAll("select value from facts where name = 'schema'");
  if (Number(found.getRows()[0]?.[0]) !== schemaVersion) throw new OtherVersion();
}
