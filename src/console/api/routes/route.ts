import { identityText, type Identity } from '../../../event/uid.ts';
import type { Said } from '../../../event/destination-health.ts';
import type { KafkaClient } from '../../../kafka/client.ts';
import type { Clock } from '../../../ops/clock.ts';
import { saidNow } from '../../../status/read-status.ts';
import type { Topology } from '../../../topology.ts';
import type { Audit } from '../../actions/audit.ts';
import type { Index, OpenIndex } from '../../index/index.ts';
import type { LiveState } from '../../index/live-state.ts';
import type { Page } from '../answers/shapes.ts';
import type { Story } from '../answers/events.ts';
import { ProblemError } from '../problem.ts';

/** An event as `explain` finds it. */
export interface ExplainedEvent {
  readonly story: Story;
  /** The body that each destination got, or will get. */
  readonly bodies: readonly (Identity & { readonly body: string })[];
}

export interface RouteDeps {
  readonly index: Index;
  readonly live: LiveState;
  readonly audit: Pick<Audit, 'entries' | 'tellSeldom'>;
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly clock: Clock;
  /**
   * The event's story as `postrider explain` tells it; undefined if nothing of the call is kept.
   * @param signal ends it early
   * @param destination of a customer: nothing that did not come to it is in the answer
   */
  explain(
    messageId: string,
    user: string | undefined,
    signal: AbortSignal,
    destination: Identity | undefined,
  ): Promise<ExplainedEvent | undefined>;
}

/** The parameters that every list takes. */
export interface Paged {
  readonly cursor?: string;
  readonly limit: number;
}

export interface OfDestination {
  readonly id: string;
}

export function saidBy({ live, clock }: Pick<RouteDeps, 'live' | 'clock'>): Said {
  return saidNow(live.statuses(), clock.now());
}

/** The word under which the index has what is of a destination, and not of an earlier one of its id. */
export function wordOf({ identityOf }: Pick<LiveState, 'identityOf'>, id: string): string {
  return identityText(identityOf(id) ?? { id });
}

/** @throws ProblemError for the moment in which it is made again */
export function opened({ current }: Index): OpenIndex {
  if (current === undefined)
    throw new ProblemError(503, 'The index is being made again; try again in a moment.');
  return current;
}

export function page<T>(
  items: readonly T[],
  next: readonly (string | number)[] | undefined,
): Page<T> {
  return { items, ...(next === undefined ? {} : { next: encodeCursor(next) }) };
}

/** The place where a page ends, in letters that need no escape in a URL. */
export function encodeCursor(place: readonly (number | string)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/**
 * @param types of what is in it
 * @throws ProblemError for one that this route has not made
 */
export function decodeCursor<const Types extends readonly ('number' | 'string')[]>(
  cursor: string | undefined,
  ...types: Types
): Place<Types> | undefined {
  if (cursor === undefined) return undefined;
  const place = jsonOf(Buffer.from(cursor, 'base64url').toString());
  const isOurs =
    Array.isArray(place) &&
    place.length === types.length &&
    place.every((each, at) => typeof each === types[at]) &&
    place.every((each) => typeof each !== 'number' || Number.isSafeInteger(each)) &&
    encodeCursor(place) === cursor;
  if (!isOurs)
    throw new ProblemError(
      400,
      'cursor is not one of this list; allowed: what `next` of the page before was.',
    );
  return place as unknown as Place<Types>;
}

type Place<Types extends readonly ('number' | 'string')[]> = {
  readonly [At in keyof Types]: Types[At] extends 'number' ? number : string;
};

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An answer that is made once for all requests within a time. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #forMs: number;
  readonly #make: () => Promise<T>;
  #made: { readonly atMs: number; readonly value: Promise<T> } | undefined;

  constructor(clock: Clock, forMs: number, make: () => Promise<T>) {
    this.#clock = clock;
    this.#forMs = forMs;
    this.#make = make;
  }

  async get(): Promise<T> {
    const nowMs = this.#clock.now();
    const made = this.#made;
    if (made !== undefined && nowMs - made.atMs < this.#forMs && nowMs >= made.atMs)
      return made.value;
    const value = this.#make();
    this.#made = { atMs: nowMs, value };
    // A failure is not remembered.
    value.catch(() => (this.#made = undefined));
    return value;
  }
}
