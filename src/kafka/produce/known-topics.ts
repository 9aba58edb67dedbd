import type { Clock, Timer } from '../../ops/clock.ts';
import type { ProducerCluster } from '../cluster/writing-cluster.ts';
import type { TopicMetadata } from '../cluster/latest-metadata.ts';
import { failureNamed, failureOf, type KafkaFailure } from '../failure.ts';
import { backoffMs } from '../retrying.ts';
import type { ProducerEvents } from './events.ts';

export interface KnownTopicsOptions {
  readonly cluster: ProducerCluster;
  readonly clock: Clock;
  /** Called when a topic's number of partitions is known, and when it has changed. */
  onCount(topic: string, partitions: number): void;
  /** Called each time that nothing is known of a topic that is looked for. */
  onMissing(topic: string, reason: string): void;
  readonly events: ProducerEvents;
  /** Resolves to false when no caller waits anymore. */
  pause(ms: number): Promise<boolean>;
}

/** The time for which a topic's growth, or a leader's silent move, may go unnoticed. */
const refreshAfterMs = 60_000;
/** Topics without writes for this long are no longer refreshed. */
const inUseForMs = 600_000;

/** The partitions of topics and their leaders, requested when first needed, and from time to time. */
export class KnownTopics {
  readonly #options: KnownTopicsOptions;
  readonly #counts = new Map<string, { readonly id: string; readonly partitions: number }>();
  readonly #lookUps = new Map<string, Promise<number>>();
  readonly #usedAt = new Map<string, number>();
  readonly #wanted = new Set<string>();
  #isInTurn = false;
  /** Never rejects. */
  #running: Promise<unknown> = Promise.resolve();
  /** Begins when the running one has ended. */
  #next: Promise<void> | undefined;
  #timer: Timer | undefined;

  constructor(options: KnownTopicsOptions) {
    this.#options = options;
    this.#refreshLater();
  }

  /** Waits as long as it takes; does not reject. */
  async partitionCount(topic: string): Promise<number> {
    const known = this.#counts.get(topic);
    if (known !== undefined) return known.partitions;
    let lookUp = this.#lookUps.get(topic);
    if (lookUp === undefined) {
      lookUp = this.#lookUp(topic);
      this.#lookUps.set(topic, lookUp);
    }
    return lookUp;
  }

  /** Node id; undefined: the partition has no leader, or does not exist. */
  leader(topic: string, partition: number): number | undefined {
    const leader = this.#options.cluster.topic(topic)?.partitions[partition]?.leader;
    return leader === -1 ? undefined : leader;
  }

  /** Grows with each leader, and each time that there is none; -1: nothing is known of the partition. */
  leaderEpoch(topic: string, partition: number): number {
    return this.#options.cluster.topic(topic)?.partitions[partition]?.epoch ?? -1;
  }

  /** Why the partition has no leader. */
  leaderless(topic: string, partition: number): KafkaFailure {
    const { cluster } = this.#options;
    const known = cluster.topic(topic);
    if (known === undefined) return this.#missing(topic);
    return known.partitions[partition] === undefined
      ? failureNamed('UNKNOWN_TOPIC_OR_PARTITION', `${topic} has no partition ${partition}`)
      : failureNamed('LEADER_NOT_AVAILABLE', `partition ${partition} of ${topic} has no leader`);
  }

  /** These topics are written to. */
  use(topics: Iterable<string>): void {
    const now = this.#options.clock.now();
    for (const topic of topics) this.#usedAt.set(topic, now);
  }

  /** Makes one request for all topics that are wanted at the same time. Rejects if no broker answers. */
  async refresh(topics: Iterable<string>): Promise<void> {
    for (const topic of topics) this.#wanted.add(topic);
    this.#next ??= this.#running.then(() => {
      const asked = this.#ask([...this.#wanted]);
      this.#wanted.clear();
      this.#next = undefined;
      this.#running = asked.catch(() => undefined);
      return asked;
    });
    return this.#next;
  }

  /** Refreshes where the known leader may have lost touch with the others. */
  async refreshInTurn(topics: Iterable<string>): Promise<void> {
    this.#isInTurn = true;
    return this.refresh(topics);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  async #ask(topics: readonly string[]): Promise<void> {
    const { cluster } = this.#options;
    const isInTurn = this.#isInTurn;
    this.#isInTurn = false;
    await (isInTurn ? cluster.refreshInTurn(topics) : cluster.refresh(topics));
    for (const topic of topics) {
      const metadata = cluster.topic(topic);
      if (metadata !== undefined) this.#learn(topic, metadata);
    }
  }

  #learn(topic: string, { id, partitions }: TopicMetadata): void {
    const known = this.#counts.get(topic);
    // A topic loses no partitions unless it is created again, so a broker that reports fewer is behind.
    if (known?.id === id && known.partitions >= partitions.length) return;
    this.#counts.set(topic, { id, partitions: partitions.length });
    if (known?.partitions !== partitions.length) this.#options.onCount(topic, partitions.length);
  }

  async #lookUp(topic: string): Promise<number> {
    for (let failures = 1; ; failures += 1) {
      const failure = await this.refresh([topic]).then(() => this.#missing(topic), failureOf);
      const known = this.#counts.get(topic);
      if (known !== undefined) {
        this.#lookUps.delete(topic);
        return known.partitions;
      }
      this.#options.events.unknown(topic, failure);
      this.#options.onMissing(topic, failure.reason);
      if (!(await this.#options.pause(backoffMs(failures)))) return new Promise(() => undefined);
    }
  }

  #missing(topic: string): KafkaFailure {
    const { cluster } = this.#options;
    return failureNamed(cluster.topicError(topic) ?? 'UNKNOWN_TOPIC_OR_PARTITION');
  }

  #refreshLater(): void {
    const { clock } = this.#options;
    this.#timer = clock.after(refreshAfterMs, () => {
      const since = clock.now() - inUseForMs;
      for (const [topic, usedAt] of this.#usedAt) if (usedAt < since) this.#usedAt.delete(topic);
      // What cannot be requested now stays as it was.
      if (this.#usedAt.size > 0) this.refresh(this.#usedAt.keys()).catch(() => undefined);
      this.#refreshLater();
    });
  }
}
