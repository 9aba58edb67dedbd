import {
  destinationHealths,
  hasWellUrl,
  byUrgency,
  judgedView,
  type DestinationHealth,
  type Evidence,
  type Past,
  type JudgedView,
  type Said,
} from '../../event/destination-health.ts';
import type { Destination } from '../../resources/resource.ts';
import { toDocument } from '../../resources/config/stored.ts';
import { overlapEnd } from '../../resources/secret-overlap.ts';
import type { LiveState } from '../index/live-state.ts';
import type {
  DestinationDetail,
  DestinationRow,
  LastHour,
  Overview,
} from './answers/destinations.ts';
import type { Order } from './choices.ts';

/** The index's knowledge of destinations. */
export interface Indexed {
  /** Undefined: it is not complete up to now. */
  readonly past: (id: string) => Past | undefined;
  /** Dead letters of the last hour. */
  readonly givenUp: (id: string) => number;
}

/** Every destination that is configured, or that a worker speaks of; the worst first. */
export function judgedViews(
  { resources, unreadable, pauses }: Pick<LiveState, 'resources' | 'unreadable' | 'pauses'>,
  said: Said,
  { past, givenUp }: Indexed,
  { isHeard, nowMs }: { readonly isHeard: boolean; readonly nowMs: number },
): readonly JudgedView[] {
  const views = new Map<string, JudgedView>();
  const lettersOf = (id: string): Evidence['givenUp'] => ({ lastHour: givenUp(id), justNow: 0 });
  const judge = (
    id: string,
    configured: 'enabled' | 'disabled' | 'paused' | 'unreadable',
    pausedSince?: string,
  ): void => {
    const known = { configured, pausedSince, past: past(id), givenUp: lettersOf(id), isHeard };
    views.set(id, judgedView(id, said, known, nowMs));
  };
  for (const resource of resources.values()) {
    if (resource.kind !== 'Destination') continue;
    const { id, enabled } = resource;
    const since = pauses.get(resource)?.since;
    judge(id, since !== undefined ? 'paused' : enabled ? 'enabled' : 'disabled', since);
  }
  for (const key of unreadable.keys()) {
    const id = /^Destination\/(.+)$/.exec(key)?.[1];
    // Workers of a newer release may read what this console cannot.
    if (id !== undefined) judge(id, said.destinations.has(id) ? 'enabled' : 'unreadable');
  }
  for (const id of said.destinations.keys()) if (!views.has(id)) judge(id, 'enabled');
  return [...views.values()].sort(byUrgency);
}

/**
 * @param views the worst first
 * @param deadLettersOf those of a destination in the last day
 * @returns the most first; what has equally many stays in its order
 */
export function inOrder(
  views: readonly JudgedView[],
  order: Order,
  deadLettersOf: (id: string) => number,
): readonly JudgedView[] {
  if (order === 'urgency') return views;
  const numberOf = (view: JudgedView): number => {
    switch (order) {
      case 'dead-letters':
        return deadLettersOf(view.destination);
      case 'waiting':
        return view.waiting.total;
      case 'p99':
        return view.p99Ms ?? -1;
    }
  };
  const numbered = views.map((view) => [view, numberOf(view)] as const);
  return numbered.sort(([, a], [, b]) => b - a).map(([view]) => view);
}

export function countStates(
  views: readonly JudgedView[],
): Readonly<Record<DestinationHealth, number>> {
  const counts = Object.fromEntries(destinationHealths.map((state) => [state, 0]));
  for (const { state } of views) counts[state] = (counts[state] ?? 0) + 1;
  return counts as Record<DestinationHealth, number>;
}

export function overviewOf(views: readonly JudgedView[]): Overview {
  const byOtherUrl = views.filter(isByOtherUrl).length;
  const counts = countStates(views);
  const { unreadable, failing, held } = counts;
  return {
    total: views.length,
    counts,
    getNothing: unreadable + failing + held - byOtherUrl,
    byOtherUrl,
  };
}

/** One of its URLs fails, and another one takes its events. */
function isByOtherUrl(view: JudgedView): boolean {
  return view.state === 'failing' && hasWellUrl(view);
}

/** The destination as it is configured; undefined: it is not, or cannot be read. */
export function configuredOf(
  { resources }: Pick<LiveState, 'resources'>,
  id: string,
): Destination | undefined {
  const resource = resources.get(`Destination/${id}`);
  return resource?.kind === 'Destination' ? resource : undefined;
}

/** The number of customers that have them. */
export function countCustomers(
  live: Pick<LiveState, 'resources'>,
  views: readonly JudgedView[],
): number {
  const customers = new Set(
    views.map(({ destination }) => configuredOf(live, destination)?.customer),
  );
  customers.delete(undefined);
  return customers.size;
}

/** @param configured undefined: it is not, or cannot be read */
export function rowOf(
  view: JudgedView,
  configured: Destination | undefined,
  deadLetters: number,
  lastHour: LastHour,
  kept: number | undefined,
): DestinationRow {
  const {
    destination: id,
    state,
    since,
    until,
    lastAnswer,
    waiting,
    oldest,
    deadline,
    asOf,
  } = view;
  const probes = view.urls.map(({ nextProbe }) => nextProbe).filter((time) => time !== undefined);
  const nextTry = probes.sort()[0];
  return {
    id,
    name: configured?.name ?? id,
    ...(configured?.customer === undefined ? {} : { customer: configured.customer }),
    ...(configured?.managedBy === undefined ? {} : { managedBy: configured.managedBy }),
    state,
    ...(isByOtherUrl(view) ? { byOtherUrl: true } : {}),
    ...(since === undefined ? {} : { since }),
    ...(asOf === undefined ? {} : { asOf }),
    ...(until === undefined ? {} : { until }),
    ...(lastAnswer === undefined ? {} : { lastAnswer }),
    waiting: waiting.total,
    ...(kept === undefined ? {} : { kept }),
    ...(oldest === undefined ? {} : { oldest }),
    ...(nextTry === undefined ? {} : { nextTry }),
    ...(deadline === undefined ? {} : { deadline }),
    perMinute: view.perMinute,
    ...(view.p99Ms === undefined ? {} : { p99Ms: view.p99Ms }),
    deadLetters,
    lastHour,
  };
}

export function detailOf(
  row: DestinationRow,
  { urls, waiting }: JudgedView,
  { resources, pauses, identityOf }: Pick<LiveState, 'resources' | 'pauses' | 'identityOf'>,
  openDeadLetters: number,
  nowMs: number,
): DestinationDetail {
  const resource = resources.get(`Destination/${row.id}`);
  const destination = identityOf(row.id) ?? row;
  const pause = pauses.get(destination);
  const resumedSince = pauses.resumedSince(destination);
  const configured = resource?.kind === 'Destination' ? resource : undefined;
  const formerSecretUntil = configured && overlapEnd(configured, nowMs);
  return {
    ...row,
    urls,
    waitingBy: { here: waiting.here, tiers: waiting.tiers, due: waiting.due },
    resource: resource === undefined ? {} : toDocument(resource),
    openDeadLetters,
    ...(pause === undefined ? {} : { pause: { since: pause.since } }),
    ...(resumedSince === undefined ? {} : { resumedSince }),
    ...(formerSecretUntil === undefined ? {} : { formerSecretUntil }),
    ...(configured?.notify && { notify: withoutQuery(configured.notify.url) }),
  };
}

/** Customers see it too, and the query of a URL may have a token. */
function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, '');
}

/** Some of them: those behind the one with the id, or where it is gone, behind its former place. */
export function pageOf<T extends { readonly destination: string }>(
  all: readonly T[],
  behind: readonly [id: string, place: number] | undefined,
  limit: number,
): { readonly items: readonly T[]; readonly next: readonly [string, number] | undefined } {
  const found = all.findIndex(({ destination }) => destination === behind?.[0]);
  const from = behind === undefined ? 0 : found >= 0 ? found + 1 : behind[1] + 1;
  const items = all.slice(from, from + limit);
  const last = items.at(-1);
  const isEnd = last === undefined || from + limit >= all.length;
  return { items, next: isEnd ? undefined : [last.destination, from + limit - 1] };
}
