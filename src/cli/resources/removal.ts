import { systemClock } from '../../ops/clock.ts';
import { PostriderError } from '../../errors.ts';
import { recordKey, type ResourceName } from '../../resources/config/stored.ts';
import type { StoredResources } from '../../resources/config/stored-resources.ts';
import type { Context } from '../context.ts';
import { confirm } from '../terminal/terminal.ts';
import { noteKept } from './left-pauses.ts';
import type { Waiting, WaitingById, WaitingOptions } from './waiting.ts';

/** A folder that is missing from a checkout must not end all that it had. */
const mostRemoved = { share: 0.2, count: 5 };

/** @throws PostriderError `usage` if more would be deleted than anybody expects, or than `most` */
export function refuseMassRemoval(removed: number, stored: number, most?: number): void {
  const allowed = most ?? Math.max(mostRemoved.count, Math.floor(mostRemoved.share * stored));
  if (removed <= allowed) return;
  throw new PostriderError(
    'usage',
    `this would delete ${removed} of ${stored} stored resources, and ${allowed} may be deleted at once; if they are to go, add --max-deleted ${removed}`,
  );
}

/** Time limit, because a person waits for the question. */
const countMs = 10_000;

/**
 * Prints what waits for resources that are to be deleted, and resolves after a yes.
 * @throws PostriderError `usage` without a terminal; `stopped` after another answer
 */
export async function confirmRemoval(
  context: Context,
  stored: StoredResources,
  removed: readonly ResourceName[],
  { yes }: { readonly yes?: true },
): Promise<void> {
  if (removed.length === 0) return;
  await noteWaiting(context, stored, removed);
  if (yes === true) return;
  const names = removed.map(({ kind, id }) => `${kind} ${id}`).join(', ');
  await confirm(
    context.terminal,
    `this deletes ${names}`,
    'to confirm without a terminal, add --yes',
  );
}

/** Prints on stderr how many events wait for each of them. */
export async function noteWaiting(
  context: Context,
  stored: StoredResources,
  removed: readonly ResourceName[],
): Promise<void> {
  const destinations = removed.filter(({ kind }) => kind === 'Destination').map(({ id }) => id);
  const sources = removed
    .filter(({ kind }) => kind === 'Source')
    .flatMap((name) => stored.get(recordKey(name))?.sealed?.sealed ?? [])
    .filter((resource) => resource.kind === 'Source');
  if (destinations.length + sources.length === 0) return;
  await noteKept(context, stored, destinations);
  // The format of bundles loads a decompressor.
  const { countCalls, countEvents } = await import('./waiting.ts');
  let progress = '';
  const options: WaitingOptions = {
    kafka: context.kafka,
    topology: await context.topology(),
    clock: systemClock,
    untilMs: systemClock.steadyNow() + countMs,
    onProgress: (read, all) => {
      progress = `counting what waits: ${read.toLocaleString('en')} of ${all.toLocaleString('en')} records read`;
    },
  };
  const status = context.status(() => progress);
  let lines: readonly string[];
  try {
    const events = destinations.length === 0 ? none : await countEvents(options, destinations);
    const calls = sources.length === 0 ? none : await countCalls(options, sources);
    lines = [
      ...destinations.map((id) => `Destination ${id}: ${eventsText(waitingOf(events, id))}`),
      ...sources.map(({ id }) => `Source ${id}: ${callsText(waitingOf(calls, id))}`),
    ];
  } finally {
    status.stop();
  }
  for (const line of lines) context.note(line);
}

const none: WaitingById = new Map();

function waitingOf(waiting: WaitingById, id: string): Waiting | string {
  if ('unknown' in waiting) return waiting.unknown;
  return waiting.get(id) ?? { count: 0, isAll: false };
}

function eventsText(waiting: Waiting | string): string {
  if (typeof waiting === 'string')
    return `the number of events that wait for it is not known (${waiting})`;
  const { count } = waiting;
  if (count === 0 && waiting.isAll) return 'no event waits for it';
  return count === 1
    ? `${atLeast(waiting)} event waits for it and becomes a dead letter`
    : `${atLeast(waiting)} events wait for it and become dead letters`;
}

function callsText(waiting: Waiting | string): string {
  if (typeof waiting === 'string')
    return `the number of its calls that wait is not known (${waiting})`;
  const { count } = waiting;
  if (count === 0 && waiting.isAll) return 'none of its calls waits to be routed';
  return count === 1
    ? `${atLeast(waiting)} of its calls waits to be routed and is rejected`
    : `${atLeast(waiting)} of its calls wait to be routed and are rejected`;
}

function atLeast({ count, isAll }: Waiting): string {
  const figure = count.toLocaleString('en');
  return isAll ? figure : `at least ${figure}`;
}
