import { Aftermath } from '../../dead-letter/aftermath.ts';
import { deadLetterView } from '../../dead-letter/dead-letter-view.ts';
import {
  notWhole,
  readDeadLetter,
  redriven,
  type DeadLetter,
} from '../../dead-letter/dead-letter.ts';
import { ExistingTopics } from '../../dead-letter/existing-topics.ts';
import { deletedSince } from '../../dead-letter/fenced.ts';
import { LiveTraffic } from '../../dead-letter/live-traffic.ts';
import { lookAtTraffic } from '../../dead-letter/look-at-traffic.ts';
import type { Judge } from '../../dead-letter/sift.ts';
import { WaysBack } from '../../dead-letter/ways-back.ts';
import { pause } from '../../dead-letter/pause.ts';
import { PostriderError } from '../../errors.ts';
import { formatFor } from '../../event/formats.ts';
import { writtenRanges } from '../../kafka/read-range.ts';
import { GroupLevel } from '../../kafka/consume/group-level.ts';
import { systemClock } from '../../ops/clock.ts';
import { silentLogger } from '../../ops/log.ts';
import {
  followStoredResources,
  type FollowedResources,
} from '../../resources/config/config-topic.ts';
import { startFence } from '../../resources/fence/fence-store.ts';
import {
  followPauses,
  looksForKeptMs,
  type FollowedPauses,
} from '../../resources/pauses/pauses.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import type { Context } from '../context.ts';
import { aftermathData, presentAftermath } from './aftermath-text.ts';
import type { LetterKind, Selection } from './letters.ts';
import { againSendsThem, type RedriveOptions } from './options.ts';
import { redriveLetters, sendLetters, type RedriveResult } from './redrive.ts';

/** Events of dead letters, and of paused destinations, on their way again. */

export const keptEvents: LetterKind<DeadLetter> = {
  noun: 'event',
  topicOf: ({ topics }) => topics.paused,
  read: readDeadLetter,
  view: deadLetterView,
};

export const deadLetters: LetterKind<DeadLetter> = {
  ...keptEvents,
  topicOf: ({ topics }) => topics.deadLetter,
  sendsTwice: againSendsThem,
};

/** What has to be known to send an event again. */
export interface KnownWays {
  readonly config: FollowedResources;
  readonly pauses: FollowedPauses;
  readonly waysBack: WaysBack;
  /** Whether it is whole, whether its user was deleted since, and whether its topic exists. */
  readonly judges: readonly Judge<DeadLetter>[];
}

/** Follows the configuration, the pauses and the deletions for as long as `use` takes. */
export async function withWaysBack<T>(
  context: Context,
  use: (ways: KnownWays) => Promise<T>,
): Promise<T> {
  const { kafka, log } = context;
  const topology = await context.topology();
  const { deletions, pauses: pausesTopic, delivery } = topology.topics;
  await requireTopics(kafka, [{ name: deletions }, { name: pausesTopic }, { name: delivery }]);
  const access = { kafka, topology, log };
  const [config, pauses] = await Promise.all([followStoredResources(access), followPauses(access)]);
  const groupId = topology.groups.delivery;
  const workers = new GroupLevel(kafka, {
    groupId,
    clock: systemClock,
    log: silentLogger,
  });
  const format = (): ReturnType<typeof formatFor> => formatFor(workers.level);
  try {
    const fence = await startFence(access);
    const waysBack = new WaysBack(config, topology, pauses, format);
    const existing = new ExistingTopics((name) => requireTopics(kafka, [{ name }]));
    const judges = [
      notWhole,
      (letter: DeadLetter) => deletedSince(letter, fence),
      (letter: DeadLetter) => existing.objection(waysBack.of(letter).topic),
    ];
    return await use({ config, pauses, waysBack, judges }).finally(() => fence.stop());
  } finally {
    workers.stop();
    await Promise.all([config.stop(), pauses.stop()]);
  }
}

export interface DeadRedriveOptions extends RedriveOptions {
  /** The only one that is selected: its topic has to exist. */
  readonly destination?: string;
  /** Also to those from where they come back. */
  readonly allDestinations?: true;
  /** How long to look what becomes of them, in milliseconds. */
  readonly wait: number;
  /** For each event that is safe. */
  readonly onSent?: () => void;
}

export interface DeadRedriveResult extends RedriveResult {
  /** What became of them while it was waited for; undefined if it was not, or nothing was sent. */
  readonly aftermath: Aftermath | undefined;
}

/** @throws PostriderError `not-found` if the topic of the named destination does not exist; of `redriveLetters` */
export async function redriveDeadLetters(
  context: Context,
  { waysBack, judges }: KnownWays,
  selection: Selection<DeadLetter>,
  options: DeadRedriveOptions,
): Promise<DeadRedriveResult> {
  const topology = await context.topology();
  const { topics, groups } = topology;
  const { destination: destinationId } = options;
  if (destinationId !== undefined)
    await requireTopics(context.kafka, [{ name: waysBack.of({ destinationId }).topic }]);
  const live = new LiveTraffic<DeadLetter>({
    isShared: (letter) => waysBack.of(letter).topic === topics.delivery,
    look: () => lookAtTraffic(context.kafka, topics.delivery, groups.delivery, systemClock),
    clock: systemClock,
    onChange: (isWaiting) => {
      context.note(
        isWaiting ? 'waiting until delivery has caught up with new events' : 'continuing',
      );
    },
  });
  const aftermath =
    options.dryRun === true || options.wait === 0
      ? undefined
      : await Aftermath.begin({ kafka: context.kafka, topology, clock: systemClock });
  const onlyReachable = (letter: DeadLetter): ReturnType<WaysBack['objection']> =>
    waysBack.objection(letter, '--all-destinations sends them too');
  const task = {
    selection,
    judges: options.allDestinations === true ? judges : [...judges, onlyReachable],
    sentAgain: (letter: DeadLetter) => {
      const wayBack = waysBack.of(letter);
      aftermath?.sentTo(wayBack.topic);
      return redriven(letter, wayBack, systemClock.now());
    },
    ...onSentOf(options),
    live,
    afterwards: async (sent: number, signal: AbortSignal) => {
      if (aftermath === undefined) return undefined;
      await aftermath.wait(options.wait, signal).catch((error: unknown) => {
        // They are sent, whether or not that can be seen.
        if (!(error instanceof PostriderError)) throw error;
        context.note(`the outcome of some events is not known: ${error.message}`);
      });
      return { data: aftermathData(aftermath, sent), lines: presentAftermath(aftermath, sent) };
    },
  };
  const result = await redriveLetters(context, deadLetters, task, options);
  return { ...result, aftermath: result.sent > 0 ? aftermath : undefined };
}

export interface KeptResult {
  /** A sentence for each reason why events were left out. */
  readonly leftOut: readonly string[];
  /** Some are still kept that another `resume` may send. */
  readonly areLeft: boolean;
}

/**
 * Sends what is kept for a destination that is not paused any more. What a worker kept that had not heard of
 * that yet lies behind what is sent here, so it is looked for until nothing new is found.
 * @param signal of `alone`
 */
export async function sendKept(
  context: Context,
  { pauses, waysBack, judges }: KnownWays,
  destinationId: string,
  { rate, ...rest }: Pick<DeadRedriveOptions, 'rate' | 'onSent'>,
  signal: AbortSignal,
): Promise<KeptResult> {
  const { paused } = (await context.topology()).topics;
  const options = { rate, yes: true, output: 'table' } as const;
  const heardByMs = systemClock.steadyNow() + looksForKeptMs;
  const matches = (letter: DeadLetter): boolean => letter.destinationId === destinationId;
  const allLeftOut: string[] = [];
  let areLeft = false;
  let from: readonly number[] = [];
  for (let isHeard = false; ; isHeard = true) {
    const ends = await endsOf(context, paused);
    const task = {
      selection: { area: { from }, matches },
      judges: [
        ...judges,
        keptSince(pauses.endedMs(destinationId)),
        (letter: DeadLetter) =>
          waysBack.objection(letter, '`postrider resume` sends them once that has changed'),
      ],
      sentAgain: (letter: DeadLetter) => redriven(letter, waysBack.of(letter), systemClock.now()),
      ...onSentOf(rest),
    };
    const { sent, leftOut, hasRemedy } = await sendLetters(
      context,
      keptEvents,
      task,
      options,
      signal,
    );
    allLeftOut.push(...leftOut);
    areLeft ||= hasRemedy;
    // Where the destination is paused again, its pause tells of them.
    if (sent === 0 && isHeard)
      return { leftOut: allLeftOut, areLeft: areLeft && !pauses.has(destinationId) };
    from = ends;
    await pause(systemClock, heardByMs - systemClock.steadyNow(), signal);
  }
}

/** To what was kept for a destination that had the id until then. */
function keptSince(endedMs: number = -1): Judge<DeadLetter> {
  const objection = { why: 'because they were kept for a former destination of this id' };
  return ({ record }) => (record.timestampMs > endedMs ? undefined : objection);
}

async function endsOf({ kafka }: Context, topic: string): Promise<readonly number[]> {
  const ends: number[] = [];
  for (const { partition, end } of await writtenRanges(kafka, topic)) ends[partition] = end;
  return ends;
}

function onSentOf({
  onSent,
}: Pick<DeadRedriveOptions, 'onSent'>): Pick<DeadRedriveOptions, 'onSent'> {
  return onSent === undefined ? {} : { onSent };
}
