import type { Clock, Timer } from '../../ops/clock.ts';
import { LogThrottle } from '../../ops/log-throttle.ts';
import type { Logger } from '../../ops/log.ts';
import { createAssigner } from './assigner.ts';
import type { BrokerOffsets } from './broker-offsets.ts';
import type { KafkaClient } from '../client.ts';
import {
  ConsumerSession,
  isPassing,
  isUnknownTopic,
  type PartitionOffset,
  type SessionEvents,
} from './consumer-session.ts';
import type { FetchControl } from './intake.ts';
import { keepTrying, pauseBeforeRetry, reasonOf } from '../keep-trying.ts';
import type { TopicPartition } from '../record.ts';

export interface MembershipOptions {
  readonly kafka: KafkaClient;
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly maxBytesPerPartition: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly offsets: Pick<BrokerOffsets, 'existing'>;
  readonly events: Required<Pick<SessionEvents, 'joined' | 'rebalancing' | 'committed'>> &
    Pick<SessionEvents, 'batch'>;
  readonly signal: AbortSignal;
  ownedIndices(): readonly number[];
  /** The last chance to commit before this member leaves, to come back with other topics. */
  beforeLeaving(): Promise<void>;
  /** kafkajs, or this class, starts again. */
  onRestart(error: Error): void;
  onCrash(error: Error): void;
}

/** How often topics are looked for that do not exist. */
const missingMs = 2_000;

/**
 * Keeps one kafkajs consumer in the group, and replaces it by one with another list of topics where
 * it must: kafkajs can add none to a running consumer, and reads nothing at all while one is missing.
 */
export class GroupMembership implements FetchControl {
  readonly #options: MembershipOptions;
  /** Grows by what other members read: the leader assigns its own list to everyone. */
  readonly #wanted: Set<string>;
  #subscribed: readonly string[] = [];
  #session: ConsumerSession | undefined;
  #work: Promise<void> = Promise.resolve();
  #reopening = false;
  #hasJoined = false;
  /** The next look for topics that do not exist, or the one that is on its way. */
  #nextLook: Timer | undefined;
  readonly #crashes = new LogThrottle();

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#wanted = new Set(options.topics);
  }

  start(): void {
    this.#work = this.#open();
  }

  async leave(): Promise<void> {
    await this.#session?.close();
    await this.#work;
  }

  seek(partition: TopicPartition, offset: number): void {
    this.#session?.seek(partition, offset);
  }

  pause(partition: TopicPartition): void {
    this.#session?.pause(partition);
  }

  resume(partition: TopicPartition): void {
    this.#session?.resume(partition);
  }

  async commit(offsets: readonly PartitionOffset[]): Promise<void> {
    await this.#session?.commit(offsets);
  }

  async #open(): Promise<void> {
    const { groupId, log, signal } = this.#options;
    const what = `Cannot join group ${groupId}`;
    await keepTrying(() => this.#openOnce(), { what, log, signal });
    this.#watchMissing();
  }

  async #openOnce(): Promise<void> {
    const { kafka, groupId, maxBytesPerPartition, log, events, signal } = this.#options;
    this.#subscribed = await this.#options.offsets.existing([...this.#wanted]);
    if (signal.aborted) return;
    if (this.#subscribed.length === 0) {
      throw new Error(`there is no topic ${[...this.#wanted].join(', ')}`);
    }
    const assigner = createAssigner({
      ownedIndices: () => this.#options.ownedIndices(),
      onUnknownTopics: (topics) => {
        this.#adopt(topics);
      },
    });
    this.#hasJoined = false;
    const session = new ConsumerSession(
      kafka,
      { groupId, maxBytesPerPartition, log, assigner },
      {
        ...events,
        joined: (assignment) => {
          this.#hasJoined = true;
          events.joined(assignment);
        },
        unsubscribedTopics: (topics) => {
          this.#adopt(topics);
        },
        crashed: (error, restart) => {
          this.#crashed(error, restart);
        },
      },
    );
    this.#session = session;
    try {
      await session.open(this.#subscribed);
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /** Topics that another member reads and this one does not. Those that were deleted stay out. */
  #adopt(topics: readonly string[]): void {
    const { log, signal } = this.#options;
    const what = 'Cannot look for topics of other members';
    void keepTrying(() => this.#options.offsets.existing(topics), { what, log, signal }).then(
      (existing) => {
        const found = existing?.filter((topic) => !this.#subscribed.includes(topic)) ?? [];
        if (found.length === 0) return;
        for (const topic of found) this.#wanted.add(topic);
        log.info({ topics: found }, 'other members of the group read more topics; joining again');
        this.#reopen();
      },
    );
  }

  #watchMissing(): void {
    const { log, signal } = this.#options;
    const missing = this.#missing();
    if (missing.length === 0 || signal.aborted) return;
    log.warn({ topics: missing }, 'these topics do not exist; they are read as soon as they do');
    this.#lookLater();
  }

  #missing(): string[] {
    return [...this.#wanted].filter((topic) => !this.#subscribed.includes(topic));
  }

  #lookLater(): void {
    const { clock, offsets, signal } = this.#options;
    const look = async (): Promise<void> => {
      if (signal.aborted) return;
      const found = await offsets.existing(this.#missing()).catch(() => []);
      // Opened anew meanwhile: then that one looks.
      if (this.#nextLook !== timer) return;
      if (found.length > 0) this.#reopen();
      else this.#lookLater();
    };
    const timer = clock.after(missingMs, () => void look());
    this.#nextLook = timer;
  }

  #crashed(error: Error, restart: boolean): void {
    const { groupId, clock, log } = this.#options;
    if (!restart && !isPassing(error)) {
      this.#options.onCrash(error);
      return;
    }
    const unlogged = this.#crashes.pass(clock.now());
    if (unlogged !== undefined) {
      const fields = { groupId, reason: crashReason(error, groupId), unlogged };
      log.warn(fields, 'lost Kafka; joining the group again');
    }
    this.#options.onRestart(error);
    if (!restart || isUnknownTopic(error)) this.#reopen({ afterPause: !this.#hasJoined });
  }

  #reopen({ afterPause } = { afterPause: false }): void {
    const { signal } = this.#options;
    if (this.#reopening || signal.aborted) return;
    this.#reopening = true;
    this.#nextLook?.cancel();
    this.#nextLook = undefined;
    // Not while it opens: kafkajs does not stop a consumer that is just joining.
    this.#work = this.#work.then(async () => {
      this.#reopening = false;
      await this.#options.beforeLeaving();
      await this.#session?.close();
      if (afterPause) await pauseBeforeRetry(signal);
      await this.#open();
    });
  }
}

/** kafkajs swallows why Kafka does not name the group's coordinator, which a missing right looks like. */
function crashReason(error: Error, groupId: string): string {
  return error.name === 'KafkaJSGroupCoordinatorNotFound'
    ? `Kafka names no coordinator: it is starting, or its ACLs do not let this principal read group ${groupId}`
    : reasonOf(error);
}
