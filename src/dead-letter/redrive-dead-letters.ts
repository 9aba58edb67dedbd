import { PostriderError } from '../errors.ts';
import type { RunOutcome } from '../event/audit-entry.ts';
import { TopicProgress } from '../kafka/topic-progress.ts';
import type { LentResources } from '../resources/config/config-topic.ts';
import { startFence } from '../resources/fence/fence.ts';
import { followPauses } from '../resources/pauses/pauses.ts';
import { requireTopics } from '../resources/require-topics.ts';
import { Aftermath } from './aftermath.ts';
import { deadLetterView } from './dead-letter-view.ts';
import {
  deletedSince,
  notWhole,
  readDeadLetter,
  redriven,
  type DeadLetter,
} from './dead-letter.ts';
import { ExistingTopics } from './existing-topics.ts';
import { LiveTraffic } from './live-traffic.ts';
import type { LetterKind } from './search.ts';
import {
  alone,
  countLetters,
  sendLetters,
  type SendResult,
  type SendTask,
} from './send-letters.ts';
import type { Caller, Remedies, Sent, ServiceAccess } from './service.ts';
import type { Judge } from './sift.ts';
import { WaysBack } from './ways-back.ts';

export const deadLetters: LetterKind<DeadLetter> = {
  noun: 'event',
  topicOf: ({ topics }) => topics.deadLetter,
  read: readDeadLetter,
  view: deadLetterView,
};

/** The knowledge that sending an event again needs. */
export interface KnownWays {
  readonly config: LentResources;
  readonly waysBack: WaysBack;
  /** They look whether it is whole, whether its user was deleted since, and whether its topic exists. */
  readonly judges: readonly Judge<DeadLetter>[];
}

/** Knows the configuration, the pauses and the deletions for as long as `use` takes. */
export async function withWaysBack<T>(
  { kafka, topology, log, withConfig }: ServiceAccess,
  use: (ways: KnownWays) => Promise<T>,
): Promise<T> {
  const { deletions, pauses: pausesTopic, delivery } = topology.topics;
  await requireTopics(kafka, [{ name: deletions }, { name: pausesTopic }, { name: delivery }]);
  const access = { kafka, topology, log };
  return withConfig(async (config) => {
    const pauses = await followPauses(access);
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
      await pauses.stop();
    }
  });
}

/** An order to send dead letters again. */
export interface DeadRedrive extends Pick<SendTask<DeadLetter>, 'selection' | 'againMs' | 'rate'> {
  /** The only ones that are selected: nobody else may send theirs meanwhile. */
  readonly destinations?: ReadonlySet<string> | undefined;
  /** The ones that somebody has named: their topics have to exist. Letters of others without a topic are left out. */
  readonly named?: ReadonlySet<string> | undefined;
  /** Also to those from where they come back. */
  readonly allDestinations?: true | undefined;
  /** Also those of earlier destinations, to the ones that have their ids now. */
  readonly earlier?: true | undefined;
  /** The time to look what becomes of them; 0: not at all. */
  readonly waitMs: number;
  readonly remedies: Remedies;
}

export interface DeadRedriveResult extends SendResult {
  /** The end of the events, as far as it was waited for; undefined if it was not, or nothing was sent. */
  readonly aftermath: Aftermath | undefined;
}

/** Undefined if it was not waited for, or nothing was sent. */
export function outcomeOf({ aftermath, counts }: DeadRedriveResult): RunOutcome | undefined {
  if (aftermath === undefined) return undefined;
  const rest = aftermath.restOf(counts.total);
  const [delivered, other] = aftermath.isRestDelivered ? [rest, 0] : [0, rest];
  const { retried, kept } = aftermath;
  return { delivered, refused: aftermath.counts.total, waiting: retried + kept, other };
}

/** @throws PostriderError `not-found` if the topic of a named destination does not exist; of `countLetters` */
export async function countDeadLetters(
  access: ServiceAccess,
  ways: KnownWays,
  chosen: DeadRedrive,
  caller: Caller,
): Promise<Sent> {
  await requireTopicsOf(access, ways, chosen);
  return countLetters(access, kindOf(chosen, ways), taskOf(access, ways, chosen), caller);
}

/**
 * Sends dead letters to their destinations again, and looks for a while what becomes of them.
 * @throws PostriderError `busy`; `not-found` if the topic of a named destination does not exist; of `sendLetters`
 */
export async function redriveDeadLetters(
  access: ServiceAccess,
  ways: KnownWays,
  chosen: DeadRedrive,
  caller: Caller,
): Promise<DeadRedriveResult> {
  await requireTopicsOf(access, ways, chosen);
  const { kafka, topology, clock } = access;
  const { destinations, waitMs } = chosen;
  const aftermath =
    waitMs === 0 ? undefined : await Aftermath.begin({ kafka, topology, clock, destinations });
  const kind = kindOf(chosen, ways);
  const result = await withLiveTraffic(access, ways.waysBack, caller, (live) => {
    const task: SendTask<DeadLetter> = {
      ...taskOf(access, ways, chosen, (topic, id) => aftermath?.sentTo(topic, id)),
      live,
      afterwards: async (signal) => {
        await aftermath?.wait(waitMs, signal).catch((error: unknown) => {
          // They are sent, whether or not that can be seen.
          if (!(error instanceof PostriderError)) throw error;
          caller.onProgress({ kind: 'outcome-unknown', error });
        });
      },
    };
    return alone(access, kind, destinations, caller, (signal) =>
      sendLetters(access, kind, task, { ...caller, signal }),
    );
  });
  const isWatched = result.counts.total > 0;
  return { ...result, aftermath: isWatched ? aftermath : undefined };
}

async function requireTopicsOf(
  { kafka }: ServiceAccess,
  { waysBack }: KnownWays,
  { named }: DeadRedrive,
): Promise<void> {
  const topics = Array.from(named ?? [], (destinationId) => ({
    name: waysBack.of({ destinationId }).topic,
  }));
  await requireTopics(kafka, topics);
}

function kindOf({ earlier }: DeadRedrive, { waysBack }: KnownWays): LetterKind<DeadLetter> {
  return earlier === true
    ? { ...deadLetters, read: (record) => waysBack.adopted(readDeadLetter(record)) }
    : deadLetters;
}

/** @param onTopic called with where each letter goes, and for whom */
function taskOf(
  { clock }: ServiceAccess,
  { waysBack, judges }: KnownWays,
  { selection, againMs, rate, remedies, allDestinations }: DeadRedrive,
  onTopic?: (topic: string, destination: string) => void,
): SendTask<DeadLetter> {
  const onlyReachable = (letter: DeadLetter): ReturnType<WaysBack['objection']> =>
    waysBack.objection(letter, remedies);
  return {
    selection,
    againMs,
    rate,
    remedies,
    judges: allDestinations === true ? judges : [...judges, onlyReachable],
    sentAgain: (letter) => {
      const wayBack = waysBack.of(letter);
      onTopic?.(wayBack.topic, letter.destinationId);
      return redriven(letter, wayBack, clock.now());
    },
  };
}

/** Watches new events that go to the topic that destinations share, and have priority there. */
export async function withLiveTraffic<T>(
  { kafka, topology: { topics, groups }, clock }: ServiceAccess,
  waysBack: WaysBack,
  { onProgress }: Caller,
  use: (live: LiveTraffic<DeadLetter>) => Promise<T>,
): Promise<T> {
  const progress = new TopicProgress(kafka, topics.delivery, groups.delivery);
  const live = new LiveTraffic<DeadLetter>({
    isShared: (letter) => waysBack.of(letter).topic === topics.delivery,
    look: () => progress.look(),
    clock,
    onChange: (isWaiting) => {
      onProgress({ kind: 'gives-way', isWaiting });
    },
  });
  try {
    return await use(live);
  } finally {
    progress.close();
  }
}
