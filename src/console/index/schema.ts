import type { AttemptRow } from './attempt-rows.ts';
import type { NumberedWord } from './words.ts';
import { bigint, integer, tiny, varchar, type Table } from './tables.ts';

/** Another number: files of former versions are removed, and all is read from Kafka again. */
export const schemaVersion = 4;

export const attemptsTable: Table<AttemptRow> = {
  name: 'attempts',
  columns: [
    ['seq', bigint, ({ seq }) => BigInt(seq)],
    ['at_ms', bigint, ({ atMs }) => BigInt(atMs)],
    ['destination', integer, ({ destination }) => destination],
    ['what', tiny, ({ what }) => what],
    ['latency', tiny, ({ latencyClass }) => latencyClass],
    ['source', integer, ({ source }) => source],
    ['type', integer, ({ type }) => type],
    ['event_name', varchar, ({ eventName }) => eventName],
    ['message', varchar, ({ message }) => message],
    ['message_hash', integer, ({ messageHash }) => messageHash],
    ['usr', varchar, ({ user }) => user],
    ['user_hash', integer, ({ userHash }) => userHash],
    ['attempt', integer, ({ attempt }) => attempt],
    ['url', integer, ({ url }) => url],
    ['status', integer, ({ status }) => status],
    ['took_ms', integer, ({ tookMs }) => tookMs],
    ['cause', integer, ({ cause }) => cause],
    ['rest', varchar, ({ rest }) => rest],
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
  ['part', integer, ({ partition }) => partition],
  ['pos', bigint, ({ offset }) => BigInt(offset)],
  ['at_ms', bigint, ({ atMs }) => BigInt(atMs)],
  ['whose', integer, ({ whose }) => whose],
  ['reason', integer, ({ reason }) => reason],
  ['rest', varchar, ({ rest }) => rest],
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
    ['kind', tiny, ({ kind }) => kind],
    ['part', integer, ({ partition }) => partition],
    ['pos', bigint, ({ offset }) => BigInt(offset)],
    ['letter_ms', bigint, ({ letterMs }) => BigInt(letterMs)],
    ['sent_ms', bigint, ({ sentMs }) => BigInt(sentMs)],
  ],
};

export const wordsTable: Table<NumberedWord> = {
  name: 'words',
  columns: [
    ['id', integer, ([id]) => id],
    ['word', varchar, ([, word]) => word],
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
    ['topic', varchar, ({ topic }) => topic],
    ['topic_id', varchar, ({ topicId }) => topicId],
    ['part', integer, ({ partition }) => partition],
    ['next', bigint, ({ next }) => BigInt(next)],
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
