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
import type { Judge } from '../../dead-letter/sift.ts';
import { WaysBack } from '../../dead-letter/ways-back.ts';
import { PostriderError } from '../../errors.ts';
import type { RunOutcome } from '../../event/audit-entry.ts';
import { TopicProgress } from '../../kafka/topic-progress.ts';
import { systemClock } from '../../ops/clock.ts';
import {
  followStoredResources,
  type FollowedResources,
} from '../../resources/config/config-topic.ts';
import { startFence } from '../../resources/fence/fence-store.ts';
import { followPauses } from '../../resources/pauses/pauses.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import type { Context } from '../context.ts';
import { aftermathData, presentAftermath } from './aftermath-text.ts';
import type { LetterKind, Selection } from './letters.ts';
import { againSendsThem, type RedriveOptions } from './options.ts';
import { redriveLetters, type RedriveResult } from './redrive.ts';

export const deadLetters: LetterKind<DeadLetter> = {
  noun: 'event',
  topicOf: ({ topics }) => topics.deadLetter,
  read: readDeadLetter,
  view: deadLetterView,
  sendsTwice: againSendsThem,
};

/** What has to be known to send an event again. */
export interface KnownWays {
  readonly config: FollowedResources;
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
  try {
    const fence = await startFence(access);
    const waysBack = new WaysBack(config, topology, pauses);
    const existing = new ExistingTopics((name) => requireTopics(kafka, [{ name }]));
    const judges = [
      notWhole,
      (letter: DeadLetter) => deletedSince(letter, fence),
      (letter: DeadLetter) => existing.objection(waysBack.of(letter).topic),
    ];
    return await use({ config, waysBack, judges }).finally(() => fence.stop());
  } finally {
    await Promise.all([config.stop(), pauses.stop()]);
  }
}

export interface DeadRedriveOptions extends RedriveOptions {
  /** The only ones that are selected: their topics have to exist. */
  readonly destination?: ReadonlySet<string>;
  /** Also to those from where they come back. */
  readonly allDestinations?: true;
  /** Also those of earlier destinations, to the ones that have their ids now. */
  readonly earlier?: true;
  /** How long to look what becomes of them, in milliseconds. */
  readonly wait: number;
  /** For each event that is safe. */
  readonly onSent?: () => void;
}

/** Undefined if it was not waited for, or nothing was sent. */
export function outcomeOf({ aftermath, sent }: DeadRedriveResult): RunOutcome | undefined {
  if (aftermath === undefined) return undefined;
  const { retried, kept, counts } = aftermath;
  const rest = aftermath.restOf(sent);
  const [delivered, other] = aftermath.isRestDelivered ? [rest, 0] : [0, rest];
  return { delivered, refused: counts.total, waiting: retried + kept, other };
}

export interface DeadRedriveResult extends RedriveResult {
  /** What became of them while it was waited for; undefined if it was not, or nothing was sent. */
  readonly aftermath: Aftermath | undefined;
}

/** @throws PostriderError `not-found` if the topic of a named destination does not exist; of `redriveLetters` */
export async function redriveDeadLetters(
  context: Context,
  { waysBack, judges }: KnownWays,
  selection: Selection<DeadLetter>,
  options: DeadRedriveOptions,
): Promise<DeadRedriveResult> {
  const topology = await context.topology();
  const { destination: destinations } = options;
  const named = Array.from(destinations ?? [], (destinationId) => ({
    name: waysBack.of({ destinationId }).topic,
  }));
  await requireTopics(context.kafka, named);
  const aftermath =
    options.dryRun === true || options.wait === 0
      ? undefined
      : await Aftermath.begin({ kafka: context.kafka, topology, clock: systemClock, destinations });
  const onlyReachable = (letter: DeadLetter): ReturnType<WaysBack['objection']> =>
    waysBack.objection(letter, {
      unreachable: '--all-destinations sends them too',
      earlier: '--earlier sends them to the one that has it now',
    });
  const task = {
    selection,
    judges: options.allDestinations === true ? judges : [...judges, onlyReachable],
    sentAgain: (letter: DeadLetter) => {
      const wayBack = waysBack.of(letter);
      aftermath?.sentTo(wayBack.topic, letter.destinationId);
      return redriven(letter, wayBack, systemClock.now());
    },
    ...onSentOf(options),
    destinations,
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
  const kind: typeof deadLetters =
    options.earlier === true
      ? { ...deadLetters, read: (record) => waysBack.adopted(readDeadLetter(record)) }
      : deadLetters;
  const result = await withLiveTraffic(context, waysBack, (live) =>
    redriveLetters(context, kind, { ...task, live }, options),
  );
  return { ...result, aftermath: result.sent > 0 ? aftermath : undefined };
}

/** Watches new events that go to the topic that destinations share, and have priority there. */
export async function withLiveTraffic<T>(
  context: Context,
  waysBack: WaysBack,
  use: (live: LiveTraffic<DeadLetter>) => Promise<T>,
): Promise<T> {
  const { topics, groups } = await context.topology();
  const progress = new TopicProgress(context.kafka, topics.delivery, groups.delivery);
  const live = new LiveTraffic<DeadLetter>({
    isShared: (letter) => waysBack.of(letter).topic === topics.delivery,
    look: () => progress.look(),
    clock: systemClock,
    onChange: (isWaiting) => {
      context.note(
        isWaiting ? 'waiting until delivery has caught up with new events' : 'continuing',
      );
    },
  });
  try {
    return await use(live);
  } finally {
    progress.close();
  }
}

export function onSentOf({
  onSent,
}: Pick<DeadRedriveOptions, 'onSent'>): Pick<DeadRedriveOptions, 'onSent'> {
  return onSent === undefined ? {} : { onSent };
}
