import type { CallType } from '../event/call.ts';

/** Where calls come from: whoever holds one of its write keys. */
export interface Source {
  readonly kind: 'Source';
  readonly id: string;
  readonly name: string;
  /** Unique over all sources. */
  readonly writeKeys: readonly string[];
}

/** One of a destination's endpoints. */
export interface Webhook {
  /** As given: http or https, without credentials and fragment. */
  readonly url: string;
  /** Names are tokens that the pipeline does not set itself; values can be written as latin-1. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A configured webhook destination with every default filled in. */
export interface Destination {
  readonly kind: 'Destination';
  readonly id: string;
  readonly name: string;
  readonly sources: readonly string[];
  readonly enabled: boolean;
  /** Never empty: an empty one counts as none. */
  readonly sharedSecret?: string;
  /** 1 to 5. */
  readonly webhooks: readonly Webhook[];
  /** The call types to deliver; all without it. `delete` is always delivered. */
  readonly events?: readonly CallType[];
  /** The names of track calls to deliver; all without it. Other call types are not affected. */
  readonly eventNames?: readonly string[];
  readonly payload: 'standard' | 'full';
  /** A header that carries the message id. Differs from every configured header. */
  readonly idempotencyHeader?: string;
  /** Events per second over the whole deployment; may be a fraction (`30/m` is 0.5). */
  readonly rateLimit?: number;
  /** Per worker. */
  readonly maxInFlight?: number;
  readonly topic: 'shared' | 'dedicated';
  /** A duration or `never`: how long nothing may reach it before it is paused. `DISABLE_AFTER` without it. */
  readonly disableAfter?: string;
}

/** Where notices are sent: to the people who run this, or to their chat. */
export interface NoticeHook extends Webhook {
  readonly kind: 'NoticeHook';
  readonly id: string;
  readonly name: string;
  /** Never empty: an empty one counts as none. */
  readonly sharedSecret?: string;
  /** `notice`: the whole notice; `chat`: `{"text": …}`, as chats take it. */
  readonly format: 'notice' | 'chat';
  /** As of a destination. */
  readonly rateLimit?: number;
}

/** Rows in files: CSV, NDJSON or Parquet, as their names say unless `format` does. */
export interface FileRows {
  /** A file, a folder of files, or a glob, in `AUDIENCE_FILES_DIR` of the sync. */
  readonly file: string;
  /** A file that stands in the folder, or beside the file, once all is written; it may hold the number of rows. */
  readonly complete?: string;
  readonly format?: RowFormat;
  /** Of CSV: without a header, columns are numbers, from 1. */
  readonly header?: boolean;
  /** Of CSV; a comma without it. */
  readonly delimiter?: string;
  /** The column that holds the user's id. */
  readonly userId: string | number;
}

export interface FileValues extends FileRows {
  /** The column that holds the trait's value. */
  readonly value: string | number;
  /** Of CSV, which knows text only: what each value is. Without it, each is what it looks like in JSON. */
  readonly type?: ValueType;
}

/** What a query returns: one column with the user's id, and behind it the value if there are values. */
export interface PostgresRows {
  /** A connection URL, which is a secret. */
  readonly postgres: string;
  readonly query: string;
}

/** What a DuckDB query over files in `AUDIENCE_FILES_DIR` returns: columns as of {@link PostgresRows}. */
export interface SqlRows {
  readonly sql: string;
}

export const rowFormats = ['csv', 'ndjson', 'parquet'] as const;
export type RowFormat = (typeof rowFormats)[number];
export const valueTypes = ['text', 'number', 'boolean'] as const;
export type ValueType = (typeof valueTypes)[number];

/** How much a sync may change at once, in percent of the users before. */
export interface AudienceLimits {
  /** Users who leave, from 0 to 100. */
  readonly maxRemoved?: number;
  /** Users who all get the same new value, from 0 to 100. */
  readonly maxChanged?: number;
  /** Users who come; 100 is twice as many as before. */
  readonly maxAdded?: number;
}

interface Synced {
  readonly id: string;
  readonly name: string;
  /** Follows from the name when the resource is made, and stays when the name changes. */
  readonly trait: string;
  /** The identify calls come from this source. */
  readonly source: string;
  /** Only these of the source's destinations; all without it. */
  readonly destinations?: readonly string[];
  readonly limits?: AudienceLimits;
}

/** A set of users. Its trait is `true` for those in it, and becomes `false` for those who leave. */
export interface Audience extends Synced {
  readonly kind: 'Audience';
  readonly members: FileRows | PostgresRows | SqlRows;
}

/** A value for each user: text, a number, true or false. */
export interface ComputedTrait extends Synced {
  readonly kind: 'ComputedTrait';
  readonly values: FileValues | PostgresRows | SqlRows;
}

export type Resource = Source | Destination | Audience | ComputedTrait | NoticeHook;
export type ResourceKind = Resource['kind'];

/** In the order in which they are written: what others refer to comes first. */
export const resourceKinds: readonly ResourceKind[] = [
  'Source',
  'Destination',
  'Audience',
  'ComputedTrait',
  'NoticeHook',
];
