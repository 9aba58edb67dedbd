import type { AttemptLine } from '../event/attempt-line.ts';
import type { Envelope } from '../event/envelope.ts';
import type { Rejection } from '../event/rejection.ts';
import type { ReadCall } from '../router/read-call.ts';
import type { Rulings } from './rulings.ts';

/** Where a record lies, and when Kafka took it. */
export interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timeMs: number;
}

/** A record of an ingest topic with the message id. */
export interface FoundCall {
  readonly place: Place;
  /** Undefined: it is no call, or its schema is not known here. */
  readonly read: ReadCall | undefined;
  /** Why the router does not route it. */
  readonly rejection: Rejection | undefined;
  /** The router has not come to it yet. */
  readonly isAhead: boolean;
  /** Of a call that the router drops: the one that it repeats. */
  readonly duplicateOf: Place | undefined;
}

/** A record of `ingest.rejected`. */
export interface FoundRejected {
  readonly place: Place;
  readonly reason: string;
  readonly detail: string;
  /** Where the call first stood: of one that the gateway rejected, its own place. */
  readonly origin: Omit<Place, 'timeMs'>;
  /** When it was sent again: ISO 8601. */
  readonly sentAgain: string | undefined;
}

/** A record on its way to a destination. */
export interface FoundCopy {
  readonly place: Place;
  readonly envelope: Envelope;
  /** The bytes that its endpoints get; absent where a bundle has them. */
  readonly body?: Buffer;
  /** The workers have not finished it yet. */
  readonly isAhead: boolean;
}

/** An event in a retry topic. */
export interface FoundWaiting extends FoundCopy {
  readonly dueMs: number | undefined;
  readonly deadlineMs: number | undefined;
  /** Of the bundle that it is in, with itself; 1: it is alone. */
  readonly events: number;
}

/** A dead letter, or an event that is kept for a paused destination. */
export interface FoundLetter {
  readonly kind: 'dead-letter' | 'kept';
  readonly place: Place;
  readonly envelope: Envelope;
  readonly reason: string;
  readonly detail: string;
  /** What its endpoint said last. */
  readonly answer: string | undefined;
  /** When it was sent again, or its destination was resumed: ISO 8601. */
  readonly sentAgain: string | undefined;
}

/** A line of `attempts` that names an event. */
export type EventLine = Exclude<AttemptLine, { readonly kind: 'bundle-deferred' }>;

/** All that the topics tell of an event. */
export interface Evidence {
  readonly messageId: string;
  readonly user: string | undefined;
  /** When all this was read. */
  readonly nowMs: number;
  /** Oldest first, like all others. */
  readonly calls: readonly FoundCall[];
  readonly rejected: readonly FoundRejected[];
  /** Of the first call that was not a duplicate. */
  readonly rulings: Rulings | undefined;
  readonly copies: readonly FoundCopy[];
  readonly lines: readonly EventLine[];
  readonly waiting: readonly FoundWaiting[];
  readonly letters: readonly FoundLetter[];
}

/** `<topic> <partition>:<offset>` */
export function placeOf({ topic, partition, offset }: Omit<Place, 'timeMs'>): string {
  return `${topic} ${partition}:${offset}`;
}
