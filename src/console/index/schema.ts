import {
  BIGINT,
  DuckDBDataChunk,
  INTEGER,
  UTINYINT,
  VARCHAR,
  type DuckDBConnection,
  type DuckDBType,
} from '@duckdb/node-api';
import type { AttemptRow } from './attempt-rows.ts';
import type { NumberedWord } from './words.ts';

/** A column of a table, and what a row has in it. */
type Column<Row> = readonly [name: string, type: DuckDBType, of: (row: Row) => Value];
type Value = number | bigint | string | null;

export interface Table<Row> {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
}

/** Another number: files of former versions are removed, and all is read from Kafka again. */
export const schemaVersion = 4;

export const attemptsTable: Table<AttemptRow> = {
  name: 'attempts',
  columns: [
    ['seq', BIGINT, ({ seq }) => BigInt(seq)],
    ['at_ms', BIGINT, ({ atMs }) => BigInt(atMs)],
    ['destination', INTEGER, ({ destination }) => destination],
    ['what', UTINYINT, ({ what }) => what],
    ['latency', UTINYINT, ({ latencyClass }) => latencyClass],
    ['source', INTEGER, ({ source }) => source],
    ['type', INTEGER, ({ type }) => type],
    ['event_name', VARCHAR, ({ eventName }) => eventName],
    ['message', VARCHAR, ({ message }) => message],
    ['message_hash', INTEGER, ({ messageHash }) => messageHash],
    ['usr', VARCHAR, ({ user }) => user],
    ['user_hash', INTEGER, ({ userHash }) => userHash],
    ['attempt', INTEGER, ({ attempt }) => attempt],
    ['url', INTEGER, ({ url }) => url],
    ['status', INTEGER, ({ status }) => status],
    ['took_ms', INTEGER, ({ tookMs }) => tookMs],
    ['cause', INTEGER, ({ cause }) => cause],
    ['rest', VARCHAR, ({ rest }) => rest],
  ],
};

/** A dead letter, or a rejected call: where it lies, what can be asked for, and the rest as JSON. */
export interface LetterRow {
  readonly partition: number;
  readonly offset: number;
  readonly atMs: number;
  /** The destination of a dead letter, or the source of a rejected call. */
  readonly whose: number;
  readonly reason: number;
  readonly rest: string;
}

const letterColumns: Table<LetterRow>['columns'] = [
  ['part', INTEGER, ({ partition }) => partition],
  ['pos', BIGINT, ({ offset }) => BigInt(offset)],
  ['at_ms', BIGINT, ({ atMs }) => BigInt(atMs)],
  ['whose', INTEGER, ({ whose }) => whose],
  ['reason', INTEGER, ({ reason }) => reason],
  ['rest', VARCHAR, ({ rest }) => rest],
];

export const lettersTable: Table<LetterRow> = { name: 'dead_letters', columns: letterColumns };
export const rejectedTable: Table<LetterRow> = { name: 'rejected', columns: letterColumns };

/** The tables of letters, and their numbers in `sent_again`. */
export const letterKinds = { dead_letters: 0, rejected: 1 } as const;

/** A letter that was sent again: where it lies, its own time, and when it was sent. */
export interface SentAgainRow {
  readonly kind: number;
  readonly partition: number;
  readonly offset: number;
  readonly letterMs: number;
  readonly sentMs: number;
}

/** A letter that was sent several times has several rows. */
export const sentAgainTable: Table<SentAgainRow> = {
  name: 'sent_again',
  columns: [
    ['kind', UTINYINT, ({ kind }) => kind],
    ['part', INTEGER, ({ partition }) => partition],
    ['pos', BIGINT, ({ offset }) => BigInt(offset)],
    ['letter_ms', BIGINT, ({ letterMs }) => BigInt(letterMs)],
    ['sent_ms', BIGINT, ({ sentMs }) => BigInt(sentMs)],
  ],
};

export const wordsTable: Table<NumberedWord> = {
  name: 'words',
  columns: [
    ['id', INTEGER, ([id]) => id],
    ['word', VARCHAR, ([, word]) => word],
  ],
};

/** The columns that have numbers of words. */
export const wordColumns: readonly (readonly [table: string, columns: readonly string[]])[] = [
  ['attempts', ['destination', 'source', 'type', 'url', 'cause']],
  ['buckets', ['destination', 'url']],
  ['dead_letters', ['whose', 'reason']],
  ['rejected', ['whose', 'reason']],
];

/** The offset up to which a partition is in the file. */
export interface OffsetRow {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly next: number;
}

export const offsetsTable: Table<OffsetRow> = {
  name: 'offsets',
  columns: [
    ['topic', VARCHAR, ({ topic }) => topic],
    ['topic_id', VARCHAR, ({ topicId }) => topicId],
    ['part', INTEGER, ({ partition }) => partition],
    ['next', BIGINT, ({ next }) => BigInt(next)],
  ],
};

/**
 * `buckets` counts attempts by five minutes, so that no page looks through all of them; `counted` in `facts`
 * is the last `seq` that is in it.
 */
export const plainTables: readonly string[] = [
  'create table facts (name varchar, value bigint)',
  'create table buckets (bucket integer, destination integer, url integer, what utinyint, latency utinyint, count integer)',
];

export const bucketMs = 300_000;

/** DuckDB takes rows in pieces of so many. */
const chunkRows = 2_048;

export function createTableSql<Row>({ name, columns }: Table<Row>): string {
  const list = columns.map(([column, type]) => `${column} ${type.toString()}`);
  return `create table ${name} (${list.join(', ')})`;
}

/** Within the transaction that is open. */
export async function append<Row>(
  connection: DuckDBConnection,
  { name, columns }: Table<Row>,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return;
  const types = columns.map(([, type]) => type);
  const appender = await connection.createAppender(name);
  // One for all pieces: its memory is DuckDB's, which V8 does not see when it decides what to collect.
  const chunk = DuckDBDataChunk.create(types);
  for (let from = 0; from < rows.length; from += chunkRows) {
    const piece = rows.slice(from, from + chunkRows);
    chunk.reset();
    chunk.setColumns(columns.map(([, , of]) => piece.map(of)));
    appender.appendDataChunk(chunk);
    // Others have a turn.
    await new Promise(setImmediate);
  }
  appender.closeSync();
}
