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
import type { EventCatalog } from '../event-catalog.ts';
import { encodeCursor } from '../../../http-api/cursor.ts';
import { ProblemError } from '../../../http-api/problem.ts';

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
  /** The kinds of events that the platform offers to its customers. */
  catalog(): EventCatalog;
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
