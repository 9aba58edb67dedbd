import type { OutgoingRecord } from '../kafka/record.ts';
import { writtenRanges } from '../kafka/read-range.ts';
import { ofKind } from '../resources/config/stored-resources.ts';
import { pauseRecord, resumedRecord } from '../resources/pauses/pause.ts';
import { looksForKeptMs, readPauses } from '../resources/pauses/pauses.ts';
import { recallWaiting } from '../resources/pauses/recall-waiting.ts';
import { requireTopics } from '../resources/require-topics.ts';
import { deadLetterView } from './dead-letter-view.ts';
import { readDeadLetter, redriven, type DeadLetter } from './dead-letter.ts';
import type { LiveTraffic } from './live-traffic.ts';
import { pause } from './pace.ts';
import { findDestinations, requirePauseTopics, writePauses } from './pause.ts';
import { clocksApartMs, type SearchArea } from './read-letters.ts';
import { withLiveTraffic, withWaysBack, type KnownWays } from './redrive-dead-letters.ts';
import type { LetterKind } from './search.ts';
import { alone, sendLetters, type SendTask } from './send-letters.ts';
import type { Caller, ServiceAccess } from './service.ts';
import { topicOf } from './ways-back.ts';

/** Events that are kept for paused destinations. */
const keptEvents: LetterKind<DeadLetter> = {
  noun: 'event',
  topicOf: ({ topics }) => topics.paused,
  read: readDeadLetter,
  view: deadLetterView,
};

export interface Resumed {
  readonly destinations: readonly {
    readonly destination: string;
    /** ISO 8601; null: it was not paused. */
    readonly pausedSince: string | null;
    /** Events are still kept that another `resume` may send. */
    readonly isLeft: boolean;
  }[];
  /** Kept events that were sent. */
  readonly sent: number;
  /** A sentence for each reason why events were left out. */
  readonly leftOut: readonly string[];
}

/** The destinations that are paused, or whose resume was cut off, and still exist. */
export async function pausedIds(access: ServiceAccess): Promise<readonly string[]> {
  await requirePauseTopics(access);
  const pauses = await readPauses(access.kafka, access.topology);
  return access.withConfig(({ resources }) => {
    const ids = ofKind(resources, 'Destination')
      .map(({ name, uid }) => ({ id: name.id, uid }))
      .filter((each) => pauses.has(each) || pauses.resumedSince(each) !== undefined)
      .map(({ id }) => id);
    return Promise.resolve(ids);
  });
}

/**
 * Waits while events of any of these destinations are resumed elsewhere: they all stay paused meanwhile. Until all
 * events are sent, the topic `pauses` says so, because they would be forgotten if this ends before, or has to leave
 * some out.
 * @param rate kept events a second, of all these destinations
 * @throws PostriderError `not-found`, `stopped`
 */
export async function resumeDestinations(
  access: ServiceAccess,
  ids: readonly string[],
  rate: number,
  caller: Caller,
): Promise<Resumed> {
  const { kafka, topology, clock } = access;
  const named = await findDestinations(access, [...new Set(ids)]);
  const { pauses: topic, deletions } = topology.topics;
  const destinations = new Set(ids);
  const topics = new Set([
    topology.topics.delivery,
    ...named.map(({ resource }) => topicOf(resource, topology)),
  ]);
  // While the destinations are paused, so that a refusal changes nothing.
  await requireTopics(kafka, [{ name: deletions }, ...Array.from(topics, (name) => ({ name }))]);
  const sendAll = async (signal: AbortSignal): Promise<Resumed> => {
    const pauses = await readPauses(kafka, topology);
    const keptSinceMs = pauses.keptSinceMs(named);
    const sinceMs =
      keptSinceMs === undefined ? undefined : Math.max(0, keptSinceMs - clocksApartMs);
    const since = new Date(clock.now()).toISOString();
    const begun = named.map((each) => resumedRecord(topic, each, pauses.end(each, since)));
    const ends = named.map((each) => pauseRecord(topic, each, undefined));
    await writePauses(access, [...begun, ...ends], signal);
    const write = (records: readonly OutgoingRecord[]): Promise<void> =>
      writePauses(access, records, signal);
    // What was put off before the pause and is not due yet.
    await recallWaiting({ kafka, topology, clock, write }, named);
    for (const each of named)
      caller.onProgress({ kind: 'resumed', destination: each.id, before: pauses.get(each) });
    const { sent, leftOut, left } = await withWaysBack(access, (ways) =>
      sendKept(access, ways, { rate, destinations, sinceMs }, { ...caller, signal }),
    );
    const done = named.filter(({ id }) => !left.has(id));
    const over = done.map((each) => resumedRecord(topic, each, undefined));
    if (over.length > 0) await writePauses(access, over, signal);
    return {
      destinations: named.map((each) => ({
        destination: each.id,
        pausedSince: pauses.get(each)?.since ?? null,
        isLeft: left.has(each.id),
      })),
      sent,
      leftOut,
    };
  };
  return alone(access, keptEvents, destinations, caller, sendAll, true);
}

interface Kept {
  readonly destinations: ReadonlySet<string>;
  /** Nothing was kept for them before; undefined: not known. Epoch milliseconds. */
  readonly sinceMs: number | undefined;
  readonly rate: number;
}

interface KeptResult extends Pick<Resumed, 'sent' | 'leftOut'> {
  /** Destinations for which events are still kept that another `resume` may send. */
  readonly left: ReadonlySet<string>;
}

async function sendKept(
  access: ServiceAccess,
  ways: KnownWays,
  kept: Kept,
  caller: Caller,
): Promise<KeptResult> {
  return withLiveTraffic(access, ways.waysBack, caller, (live) =>
    sendBeside(live, access, ways, kept, caller),
  );
}

/**
 * Sends what is kept for destinations that are not paused any more. What a worker kept that had not heard of
 * that yet lies behind what is sent here, so it is looked for until nothing new is found.
 */
async function sendBeside(
  live: LiveTraffic<DeadLetter>,
  access: ServiceAccess,
  { waysBack, judges }: KnownWays,
  { destinations, sinceMs, rate }: Kept,
  caller: Caller,
): Promise<KeptResult> {
  const { clock } = access;
  const heardByMs = clock.steadyNow() + looksForKeptMs;
  const leftOut: string[] = [];
  const left = new Set<string>();
  let sent = 0;
  let area: SearchArea = { sinceMs };
  for (let isHeard = false; ; isHeard = true) {
    const from = await endsOf(access);
    const task: SendTask<DeadLetter> = {
      selection: { area, matches: ({ destinationId }) => destinations.has(destinationId) },
      judges: [...judges, (letter) => waysBack.objection(letter, remedies)],
      sentAgain: (letter) => redriven(letter, waysBack.of(letter), clock.now()),
      onLeftOut: ({ destinationId }, { remedy }) => {
        if (remedy !== undefined) left.add(destinationId);
      },
      rate,
      remedies,
      live,
    };
    const {
      counts,
      leftOut: others,
      failure,
    } = await sendLetters(access, keptEvents, task, caller);
    if (failure !== undefined) throw failure;
    leftOut.push(...others.sentences());
    sent += counts.total;
    if (counts.total === 0 && isHeard) break;
    area = { sinceMs, from };
    await pause(clock, heardByMs - clock.steadyNow(), caller.signal);
  }
  // Where a destination is paused again, its pause tells of them.
  return { sent, leftOut, left: new Set([...left].filter((id) => !waysBack.isPaused(id))) };
}

/** The command that sends them is the same everywhere. */
const remedies = {
  unreachable: '`postrider resume` sends them once that has changed',
  goOn: 'the same command continues where this one stopped',
} as const;

async function endsOf({ kafka, topology }: ServiceAccess): Promise<readonly number[]> {
  const ends: number[] = [];
  for (const { partition, end } of await writtenRanges(kafka, topology.topics.paused))
    ends[partition] = end;
  return ends;
}
