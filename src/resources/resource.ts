import type { BodyShape } from '../event/body-shape.ts';
import type { CallType } from '../event/call.ts';
import type { Filter } from '../event/filter.ts';
import type { WithUid } from '../event/uid.ts';
import type { ClientCertificate, OAuth2 } from './schema/webhook-login.ts';

export const managers = ['files', 'api'] as const;
/** The one that changes a resource: files, by `apply` and `delete`, or the API. */
export type Manager = (typeof managers)[number];

/** Resources that the API can make as well. */
export interface Managed {
  /** Files manage it without this field. */
  readonly managedBy?: 'api';
}

/** A source of calls, identified by any of its write keys. */
export interface Source extends Managed {
  readonly kind: 'Source';
  readonly id: string;
  readonly name: string;
  /** Unique over all sources. */
  readonly writeKeys: readonly string[];
}

export const httpMethods = ['POST', 'PUT', 'PATCH'] as const;
export type HttpMethod = (typeof httpMethods)[number];

/** One of a destination's endpoints. */
export interface Webhook {
  /**
   * The URL as given: http or https, without credentials and fragment. A destination's may have placeholders in its
   * path and query.
   */
  readonly url: string;
  /** Names are tokens that the pipeline does not set itself; values can be written as latin-1. */
  readonly headers: Readonly<Record<string, string>>;
  /** POST without it. A URL with placeholders always has one. */
  readonly method?: HttpMethod;
  /** Each request carries a token, which is fetched with these credentials. */
  readonly oauth2?: OAuth2;
  readonly clientCertificate?: ClientCertificate;
}

/** A destination's own rules for attempts that fail, in the place of the defaults. */
export interface RetryRules {
  /** Statuses from 400 to 599 that are tried again. */
  readonly on?: readonly number[];
  /** Statuses that make an event a dead letter at once; none of `on`. */
  readonly giveUpOn?: readonly number[];
  /** A duration: the time for retries from the first failure; `RETRY_WINDOW` if that is shorter. */
  readonly window?: string;
  /** A duration: the time of one whole attempt; `DELIVERY_TIMEOUT` if that is shorter. */
  readonly timeout?: string;
}

/** The bounds of a batch: one request whose body is a JSON array of the bodies that its events have alone. */
export interface BatchRules {
  /** From 1 to 1,000. */
  readonly events: number;
  /** A duration of at most 10 seconds: the longest time for which an event waits for others. */
  readonly wait: string;
  /** A size from `1KB` to `1MB`: that of the body. An event that is larger goes alone. */
  readonly bytes: string;
}

/** A `sharedSecret` that was replaced, and signs beside the present one for a while. */
export interface FormerSecret {
  readonly secret: string;
  /** From then on it signs nothing. */
  readonly untilMs: number;
}

/**
 * A configured webhook destination with every default filled in. Its uid, its former secrets and its manager are kept by
 * whatever writes it, and its `urlPaths` follow from its webhooks: these are no part of resource files.
 */
export interface Destination extends WithUid, Managed {
  readonly kind: 'Destination';
  readonly id: string;
  readonly name: string;
  /** The platform's own customer whose destination it is, by the platform's own id; see `customerProblem`. */
  readonly customer?: string;
  readonly sources: readonly string[];
  readonly enabled: boolean;
  /** Never empty: an empty one counts as none. */
  readonly sharedSecret?: string;
  /**
   * The signature of requests by the secret: that of Standard Webhooks, or `X-Signature` beside it;
   * only the latter if this is not set.
   */
  readonly signature?: 'standard' | 'both';
  /** A duration: how long a secret that is replaced signs beside the new one, by Standard Webhooks. */
  readonly secretOverlap?: string;
  /** Newest first. */
  readonly formerSecrets?: readonly FormerSecret[];
  /** 1 to 5. */
  readonly webhooks: readonly Webhook[];
  /** The paths of the placeholders in its URLs, each once. Whoever cannot read a secret URL knows them from here. */
  readonly urlPaths?: readonly string[];
  /** Its URLs are secrets: encrypted where they are stored, and shown as origin and hash. */
  readonly secretUrl?: boolean;
  /** The call types to deliver; all without it. `delete` is always delivered. */
  readonly events?: readonly CallType[];
  /**
   * The names of track calls to deliver; all without it. One that ends in `*` stands for all that begin like it.
   * Other call types are not affected.
   */
  readonly eventNames?: readonly string[];
  /** The calls to deliver, by their values; all without it. */
  readonly filter?: Filter;
  readonly payload: 'standard' | 'full';
  /** The shape of its bodies; the payload as it is without it. */
  readonly body?: BodyShape;
  /** A header that carries the message id. Differs from every configured header. */
  readonly idempotencyHeader?: string;
  /** Bodies of 1 KB and more are sent compressed; none without it. */
  readonly compress?: 'gzip';
  /** Events (see `rateLimitOf`) per second over the whole deployment; may be a fraction (`30/m` is 0.5). */
  readonly rateLimit?: number;
  /** The limit counts requests in the place of events, which differ where it has batches. */
  readonly rateLimitOf?: 'requests';
  /** Requests, per worker. */
  readonly maxInFlight?: number;
  /** Many events go out in one request; each in its own without it. */
  readonly batch?: BatchRules;
  readonly topic: 'shared' | 'dedicated';
  /** The number that its dedicated topic is made with; three without it. */
  readonly partitions?: number;
  /** `user`: an event waits for each earlier one of its user. Needs a dedicated topic. */
  readonly order?: 'user';
  /** A duration: how long others wait for an event that fails. 30 minutes without it. */
  readonly orderFor?: string;
  /** A duration or `never`: how long nothing may reach it before it is paused. `DISABLE_AFTER` without it. */
  readonly disableAfter?: string;
  readonly retry?: RetryRules;
  /** The place where its owner is told that it fails, is paused for that, and works again. */
  readonly notify?: Notify;
}

export interface Notify {
  /** A URL like that of a webhook, without placeholders; a secret if the URLs of the destination are. */
  readonly url: string;
}

/** A place for notices: the people who run this deployment, or their chat. Its URL is a secret. */
export interface NoticeHook extends Pick<Webhook, 'url' | 'headers'>, WithUid {
  readonly kind: 'NoticeHook';
  readonly id: string;
  readonly name: string;
  /** Never empty: an empty one counts as none. */
  readonly sharedSecret?: string;
  /** `notice`: the whole notice; `chat`: `{"text": …}`, the format of chat webhooks. */
  readonly format: 'notice' | 'chat';
  /** The limit of notices a second, as for a destination. */
  readonly rateLimit?: number;
}

/** Rows in files: CSV, NDJSON or Parquet, as their names say unless `format` does. */
export interface FileRows {
  /** A file, a folder of files, or a glob, in `AUDIENCE_FILES_DIR` of the sync. */
  readonly file: string;
  /**
   * A file in the folder, or beside the file, that shows that everything is written; it may hold the number
   * of rows.
   */
  readonly complete?: string;
  /** A duration. Older files are refused: the newest one counts, or `complete`. */
  readonly maxAge?: string;
  readonly format?: RowFormat;
  /** For CSV: without a header, columns are numbers, from 1. */
  readonly header?: boolean;
  /** For CSV; the default is a comma. */
  readonly delimiter?: string;
  /** The column that holds the user's id. */
  readonly userId: string | number;
}

export interface FileValues extends FileRows {
  /** The column that holds the trait's value. */
  readonly value: string | number;
  /**
   * For CSV, where all values are text: the type of each value. Without it, each value has the type that it
   * looks like in JSON.
   */
  readonly type?: ValueType;
}

/** The result of a query: a column with the user's id, followed by the value for computed traits. */
export interface PostgresRows {
  /** A connection URL, which is a secret. */
  readonly postgres: string;
  readonly query: string;
  /** A query for the time of the newest data. */
  readonly asOf?: string;
  /** A duration. Data that is older by `asOf` is refused. */
  readonly maxAge?: string;
}

/** The result of a DuckDB query over files in `AUDIENCE_FILES_DIR`: columns and age as for {@link PostgresRows}. */
export interface SqlRows {
  readonly sql: string;
  readonly asOf?: string;
  readonly maxAge?: string;
}

export const rowFormats = ['csv', 'ndjson', 'parquet'] as const;
export type RowFormat = (typeof rowFormats)[number];
export const valueTypes = ['text', 'number', 'boolean'] as const;
export type ValueType = (typeof valueTypes)[number];

/** The share of users that a sync may change at once, in percent of the users before. */
export interface AudienceLimits {
  /** Users who leave, from 0 to 100. */
  readonly maxRemoved?: number;
  /** Users who all get the same new value, from 0 to 100. */
  readonly maxChanged?: number;
  /** Users who come; 100 is twice as many as before. */
  readonly maxAdded?: number;
}

/** The calls by which a sync tells of a change. */
export const emittedCalls = ['identify', 'track'] as const;
export type EmittedCall = (typeof emittedCalls)[number];

/** The property that names the trait in a track call of a sync, as Segment has it. */
export const keyProperties = { Audience: 'audience_key', ComputedTrait: 'trait_key' } as const;

interface Synced {
  readonly id: string;
  readonly name: string;
  /** Derived from the name when the resource is created, and kept when the name changes. */
  readonly trait: string;
  /** The calls come from this source. */
  readonly source: string;
  /** Only these of the source's destinations; all without it. */
  readonly destinations?: readonly string[];
  /** In the order of `emittedCalls`; `identify` alone without it. */
  readonly emit?: readonly EmittedCall[];
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

/** In writing order: resources come after those that they refer to. */
export const resourceKinds: readonly ResourceKind[] = [
  'Source',
  'Destination',
  'Audience',
  'ComputedTrait',
  'NoticeHook',
];

export function managerOf(resource: Resource): Manager {
  return ('managedBy' in resource ? resource.managedBy : undefined) ?? 'files';
}

/**
 * The text from which the partition of a destination's events is computed; undefined: each event's
 * key.
 *
 * With a rate limit, all events are in one partition of each topic, so that one worker has the
 * whole limit, and nothing is lost by dividing it. The order of a user's events still follows each
 * event's key.
 */
export function partitionKeyOf({
  id,
  rateLimit,
}: Pick<Destination, 'id' | 'rateLimit'>): string | undefined {
  return rateLimit === undefined ? undefined : id;
}

/** Four destinations at their limits fill a worker, and one alone never does. */
const share = 0.25;

/**
 * The greatest `maxInFlight` of a destination.
 * @param deliveryMaxInFlight `DELIVERY_MAX_IN_FLIGHT`, for all destinations of one worker together
 */
export function mostInFlight(deliveryMaxInFlight: number): number {
  return Math.max(1, Math.floor(share * deliveryMaxInFlight));
}
