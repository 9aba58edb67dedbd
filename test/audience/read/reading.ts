import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { openDatabase } from '../../../src/audience/database.ts';
import { readMembers } from '../../../src/audience/read/read-members.ts';
import { faults, type Fault, type ReadReport } from '../../../src/audience/read/report.ts';
import type {
  FileRows,
  FileValues,
  PostgresRows,
  SqlRows,
} from '../../../src/resources/resource.ts';

export interface Reading {
  readonly folder: string;
  readonly file: (name: string, content: string | Buffer) => Promise<string>;
  /** Writes with DuckDB, e.g. Parquet. */
  readonly sql: (statement: string) => Promise<void>;
  readonly members: (
    from: FileRows | PostgresRows | SqlRows,
    allowOld?: boolean,
  ) => Promise<ReadOutcome>;
  readonly values: (from: FileValues | PostgresRows | SqlRows) => Promise<ReadOutcome>;
}

export interface ReadOutcome {
  /** The table `current`. */
  readonly current: ReadonlyMap<string, string>;
  readonly report: ReadReport;
}

/** A folder and a small database of its own, for one test. */
export async function startReading(t: TestContext): Promise<Reading> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'postrider-read-')));
  const tempFolder = path.join(folder, 'spilled');
  const database = await openDatabase(path.join(folder, 'scratch.duckdb'), tempFolder);
  const { connection } = database;
  t.after(async () => {
    database.close();
    await rm(folder, { recursive: true });
  });
  const read = async (
    from: FileRows | FileValues | PostgresRows | SqlRows,
    rows: 'members' | 'values',
    allowOld = false,
  ): Promise<ReadOutcome> => {
    const options = {
      rows,
      folder,
      tempFolder,
      queryTimeoutMs: 2_000,
      nowMs: Date.now(),
      allowOld,
    };
    const report = await readMembers(connection, from, options);
    const table = await connection.runAndReadAll('SELECT * FROM current');
    return { current: new Map(table.getRowsJson() as [string, string][]), report };
  };
  return {
    folder,
    file: async (name, content) => {
      const where = path.join(folder, name);
      await mkdir(path.dirname(where), { recursive: true });
      await writeFile(where, content);
      return where;
    },
    sql: async (statement) => {
      await connection.run(statement);
    },
    members: (from, allowOld) => read(from, 'members', allowOld),
    values: (from) => read(from, 'values'),
  };
}

/** A report in which nothing happened but what is given. */
export function reportOf(
  given: Partial<Omit<ReadReport, 'leftOut'>>,
  leftOut: LeftOut = {},
): ReadReport {
  const none = Object.fromEntries(Object.keys(faults).map((fault) => [fault, 0]));
  return {
    rows: 0,
    members: 0,
    duplicates: 0,
    conflicts: 0,
    trimmedIds: 0,
    numericIds: 0,
    leadingZeroIds: 0,
    longNumericIds: 0,
    placeholderIds: 0,
    ...given,
    leftOut: { ...(none as Record<Fault, number>), ...leftOut },
  };
}

type LeftOut = Partial<Record<Fault, number>>;
