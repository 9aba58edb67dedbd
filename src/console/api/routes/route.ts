import { identityText, type Identity } from '../../../event/uid.ts';
import type { KafkaClient } from '../../../kafka/client.ts';
import type { Clock } from '../../../ops/clock.ts';
import type { Topology } from '../../../topology.ts';
import type { Audit } from '../../actions/audit.ts';
import type { Index, OpenIndex } from '../../index/index.ts';
import type { LiveState } from '../../index/live-state.ts';
import type { ExplainedEvent } from '../copies.ts';
import { encodeCursor } from '../cursor.ts';
import type { Said, SaidNow } from '../destinations.ts';
import type { ReadBacklog } from '../flow.ts';
import type { Page } from '../answers/shapes.ts';
import { ProblemError } from '../problem.ts';

export interface RouteDeps {
  readonly index: Index;
  readonly live: LiveState;
  readonly audit: Pick<Audit, 'entries' | 'tellSeldom'>;
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly clock: Clock;
  readonly saidNow: SaidNow;
  readonly readBacklog: ReadBacklog;
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

export function saidBy({ saidNow, live, clock }: RouteDeps): Said {
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
