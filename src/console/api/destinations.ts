import { destinationStates, type DestinationState } from '../../event/destination-state.ts';
import type {
  DestinationStatus,
  StatusRecord,
  WorkerStatus,
} from '../../event/destination-status.ts';
import { byUrgency, unseen, viewOf, type DestinationView } from '../../event/destination-view.ts';
import { toDocument } from '../../resources/config/stored.ts';
import type { LiveState } from '../index/live-state.ts';
import type { DestinationDetail, DestinationRow, LastHour } from './model.ts';

/** What the workers that live say now; as `src/status` has it. */
export interface Said {
  readonly workers: readonly WorkerStatus[];
  readonly destinations: ReadonlyMap<string, readonly DestinationStatus[]>;
}

export type SaidNow = (records: readonly StatusRecord[], nowMs: number) => Said;

/** Every destination that is configured, or that a worker speaks of; the worst first. */
export function viewsOf(
  { resources, unreadable, pauses }: Pick<LiveState, 'resources' | 'unreadable' | 'pauses'>,
  { destinations }: Said,
): readonly DestinationView[] {
  const views = Array.from(destinations, ([id, said]) => viewOf(id, said));
  for (const resource of resources.values()) {
    if (resource.kind !== 'Destination' || destinations.has(resource.id)) continue;
    const { id, enabled } = resource;
    const since = pauses.get(resource)?.since;
    if (since !== undefined) views.push({ ...unseen(id, 'paused'), since });
    else views.push(unseen(id, enabled ? 'ok' : 'disabled'));
  }
  for (const key of unreadable.keys()) {
    const id = /^Destination\/(.+)$/.exec(key)?.[1];
    if (id !== undefined && !destinations.has(id))
      views.push({ ...unseen(id, 'ok'), state: 'unreadable' });
  }
  return views.sort(byUrgency);
}

export function countStates(
  views: readonly DestinationView[],
): Readonly<Record<DestinationState, number>> {
  const counts = Object.fromEntries(destinationStates.map((state) => [state, 0]));
  for (const { state } of views) counts[state] = (counts[state] ?? 0) + 1;
  return counts as Record<DestinationState, number>;
}

export function nameOf({ resources }: Pick<LiveState, 'resources'>, id: string): string {
  return resources.get(`Destination/${id}`)?.name ?? id;
}

export function rowOf(
  view: DestinationView,
  name: string,
  deadLetters: number,
  lastHour: LastHour,
): DestinationRow {
  const { destination: id, state, since, until, lastAnswer, waiting, oldest, deadline } = view;
  const probes = view.urls.map(({ nextProbe }) => nextProbe).filter((time) => time !== undefined);
  const nextTry = probes.sort()[0];
  return {
    id,
    name,
    state,
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(lastAnswer === undefined ? {} : { lastAnswer }),
    waiting: waiting.total,
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
  { urls, waiting }: DestinationView,
  { resources, pauses, identityOf }: Pick<LiveState, 'resources' | 'pauses' | 'identityOf'>,
): DestinationDetail {
  const resource = resources.get(`Destination/${row.id}`);
  const destination = identityOf(row.id) ?? row;
  const pause = pauses.get(destination);
  const resumedSince = pauses.resumedSince(destination);
  return {
    ...row,
    urls,
    waitingBy: { here: waiting.here, tiers: waiting.tiers, due: waiting.due },
    resource: resource === undefined ? {} : toDocument(resource),
    ...(pause === undefined ? {} : { pause: { since: pause.since } }),
    ...(resumedSince === undefined ? {} : { resumedSince }),
  };
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
