import type { AttemptLine } from '../event/attempt-line.ts';
import type { Envelope } from '../event/envelope.ts';
import type { Rejection } from '../event/rejection.ts';
import { identityText, type Identity } from '../event/uid.ts';
import type { ReadCall } from '../router/read-call.ts';
import type { Rulings } from './rulings.ts';

/** The place of a record, and its append time. */
export interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timeMs: number;
}

/** A record of an ingest topic with the message id. */
export interface FoundCall {
  readonly place: Place;
  /** False: the record is not a call, or cannot be read here. */
  readonly isRead: boolean;
  /** The call came back after it was rejected. */
  readonly isSentAgain: boolean;
  /** Why it cannot be read here, although the router may have read it. */
  readonly unreadable: string | undefined;
  /** Why the router does not route the call. */
  readonly rejection: Rejection | undefined;
  /** The router has not read the record yet. */
  readonly isAhead: boolean;
  /** For a call that the router drops: the call that it repeats. */
  readonly duplicateOf: Place | undefined;
}

/** A call with all that it says. Only one is held: what is parsed takes many times the memory of its bytes. */
export interface WholeCall {
  readonly place: Place;
  readonly read: ReadCall;
}

/** A record of `ingest.rejected`. */
export interface FoundRejected {
  readonly place: Place;
  readonly reason: string;
  readonly detail: string;
  /** The place where the call first arrived; for one that the gateway rejected, its own place. */
  readonly origin: Omit<Place, 'timeMs'>;
  /** The time at which the letter was sent again: ISO 8601. */
  readonly sentAgain: string | undefined;
}

/** A record on its way to a destination. */
export interface FoundCopy {
  readonly place: Place;
  readonly envelope: Envelope;
  /** The workers have not finished the record yet. */
  readonly isAhead: boolean;
}

/** An event in a retry topic. */
export interface FoundWaiting extends FoundCopy {
  readonly dueMs: number | undefined;
  readonly deadlineMs: number | undefined;
  /** Number of events in the bundle; 1: the event is not in a bundle. */
  readonly events: number;
}

/** A dead letter, or an event that is kept for a paused destination. */
export interface FoundLetter {
  readonly kind: 'dead-letter' | 'kept';
  readonly place: Place;
  readonly envelope: Envelope;
  readonly reason: string;
  readonly detail: string;
  /** The endpoint's last answer. */
  readonly answer: string | undefined;
  /** The time at which the event was sent again, or its destination was resumed: ISO 8601. */
  readonly sentAgain: string | undefined;
}

/** A line of `attempts` that names an event. */
export type EventLine = Exclude<AttemptLine, { readonly kind: 'bundle-deferred' }>;

/** Everything that the topics contain about an event. */
export interface Evidence {
  readonly messageId: string;
  readonly user: string | undefined;
  /** The time at which all this was read. */
  readonly nowMs: number;
  /** Oldest first, like all others. */
  readonly calls: readonly FoundCall[];
  /** The first call that could be read, and is no duplicate. */
  readonly first: WholeCall | undefined;
  readonly rejected: readonly FoundRejected[];
  /** Rulings for the first call that was not a duplicate. */
  readonly rulings: Rulings | undefined;
  readonly copies: readonly FoundCopy[];
  /** The bodies that endpoints get; without those of events in a bundle. */
  readonly bodies: readonly SentBody[];
  readonly lines: readonly EventLine[];
  readonly waiting: readonly FoundWaiting[];
  readonly letters: readonly FoundLetter[];
}

/** `<topic> <partition>:<offset>` */
export function placeOf({ topic, partition, offset }: Omit<Place, 'timeMs'>): string {
  return `${topic} ${partition}:${offset}`;
}

/** A body that was sent, or is to be sent, to a destination. */
interface SentBody extends Identity {
  readonly body: Buffer;
}

interface Kept extends SentBody {
  readonly timeMs: number;
}

/** Most destinations get the same bytes, which are kept once. */
const mostBytes = 4 * 1024 * 1024;

/** The newest body of each destination; what doesn't fit is left out. */
export class LatestBodies {
  readonly #kept = new Map<string, Kept>();

  get all(): readonly SentBody[] {
    return [...this.#kept.values()];
  }

  /** Copies the bytes, because a slice would keep the whole batch that they came in. */
  add(identity: Identity, body: Buffer, timeMs: number): void {
    const key = identityText(identity);
    const former = this.#kept.get(key);
    if (former !== undefined && former.timeMs > timeMs) return;
    this.#kept.delete(key);
    const distinct = new Set([...this.#kept.values()].map((each) => each.body));
    const same = [...distinct].find((each) => each.equals(body));
    const bytes = [...distinct].reduce((sum, { length }) => sum + length, body.length);
    if (same === undefined && bytes > mostBytes) return;
    const { id, uid } = identity;
    this.#kept.set(key, { id, uid, body: same ?? Buffer.from(body), timeMs });
  }
}
