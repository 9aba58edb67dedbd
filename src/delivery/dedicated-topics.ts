import { asError } from '../errors.ts';
import { withAdmin } from '../kafka/admin.ts';
import type { KafkaAdmin, OffsetRange } from '../kafka/admin.ts';
import type { ConsumeLoop } from '../kafka/consume/consume-loop.ts';
import { drainMs } from '../kafka/consume/intake.ts';
import type { KafkaClient } from '../kafka/client.ts';
import type { Cluster } from '../kafka/cluster/cluster.ts';
import { isFinished } from '../kafka/topic-progress.ts';
import { writtenRanges } from '../kafka/read-range.ts';
import type { SteadyClock, Timer } from '../ops/clock.ts';
import { waitAtMost } from '../ops/wait.ts';
import type { Config } from '../resources/config/config.ts';
import type { Topology } from '../topology.ts';
import type { DeliveryEvents } from './events.ts';

export interface DedicatedTopicsOptions {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly config: Config;
  readonly clock: SteadyClock;
  readonly events: DeliveryEvents;
  /** Starts reading a dedicated topic, with a group of its own. */
  read(topic: string, groupId: string, destinationId: string): ConsumeLoop;
  /** The topic is no longer read. */
  left(destinationId: string): void;
}

const lookMs = 5_000;
/**
 * All topics of the cluster are listed at the start and then so often, for what the configuration does not tell: topics
 * of destinations that used one before this worker started, or whose records cannot be read here. In between, topics
 * are asked for by name, and where no destination has one, nothing is asked.
 */
const listMs = 600_000;
/**
 * On stop: how long to wait for a look that is under way. A longer one waits for an answer from Kafka, after
 * which it joins nothing.
 */
const joinMs = 1_000;
/**
 * Time to wait after a destination is deleted. By then no router writes to its topic, however far behind the
 * router was.
 */
const removalGraceMs = 600_000;

/**
 * Keeps one reader for each dedicated topic. A topic is joined when it exists, even if its destination now
 * uses the shared topic or is gone. It is left when such a topic is empty or was removed. The topic of a
 * deleted destination is removed when it is empty.
 */
export class DedicatedTopics {
  readonly #options: DedicatedTopicsOptions;
  readonly #readers = new Map<string, ConsumeLoop>();
  /** The dedicated topics that may exist: those of destinations that use one, and those that existed. */
  readonly #known = new Set<string>();
  #listedMs = -Infinity;
  #cluster: Cluster | undefined;
  /** Former dedicated topics that were found empty. They are read again if they get records after all. */
  readonly #left = new Set<string>();
  /** The time, by the steady clock, since which this worker has known that a topic's destination is gone. */
  readonly #goneSinceMs = new Map<string, number>();
  #timer: Timer | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;
  #hasLooked = false;

  constructor(options: DedicatedTopicsOptions) {
    this.#options = options;
  }

  get readers(): readonly ConsumeLoop[] {
    return [...this.#readers.values()];
  }

  /** All topics that there were at the first look are read, as soon as their groups let this worker join. */
  get areJoined(): boolean {
    return this.#hasLooked && this.readers.every(({ joined }) => joined);
  }

  /** A destination has changed: it may need its topic now, or not any more. */
  changed(destinationId: string): void {
    const { topology, config } = this.#options;
    const { name } = topology.dedicatedTopic(destinationId);
    if (config.destination(destinationId)?.topic === 'dedicated') this.#known.add(name);
    if (this.#known.has(name)) void this.look();
  }

  /** Looks at the topics now, and from then on regularly. */
  async look(): Promise<void> {
    if (this.#stopped) return;
    // A look that has already begun may have read an older state; the timer soon starts another one.
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      this.#timer?.cancel();
      if (this.#stopped) return;
      this.#timer = this.#options.clock.after(lookMs, () => {
        void this.look();
      });
    });
    return this.#looking;
  }

  async stop(timeoutMs: number): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await waitAtMost(joinMs, this.#looking);
    this.#cluster?.close();
    await Promise.all(this.readers.map((reader) => reader.stop(timeoutMs)));
  }

  async #look(): Promise<void> {
    const { kafka, events } = this.#options;
    try {
      const names = await this.#existing();
      // All are joined before one is asked about: what cannot be looked at must not keep others from being read.
      const former = names.filter((topic) => this.#joinOrTell(topic) === 'former');
      this.#hasLooked = true;
      if (former.length > 0)
        await withAdmin(kafka, async (admin) => {
          await Promise.all(former.map((topic) => this.#cleanUp(topic, admin)));
        });
      await this.#forgetAllBut(new Set(names));
    } catch (error) {
      // Kafka is unreachable.
      events.dedicatedTopicsUnknown(asError(error));
    }
  }

  /** The dedicated topics that there are. */
  async #existing(): Promise<readonly string[]> {
    const { kafka, topology, config, clock } = this.#options;
    for (const { id, topic } of config.destinations())
      if (topic === 'dedicated') this.#known.add(topology.dedicatedTopic(id).name);
    const nowMs = clock.steadyNow();
    if (nowMs - this.#listedMs >= listMs) {
      const prefix = `${topology.topics.delivery}.`;
      const names = await withAdmin(kafka, (admin) => admin.topicNames(prefix));
      this.#listedMs = nowMs;
      for (const name of names) this.#known.add(name);
      return names;
    }
    const known = [...this.#known].sort();
    if (known.length === 0 || this.#stopped) return [];
    const cluster = (this.#cluster ??= kafka.openCluster('read'));
    await cluster.refresh(known);
    return known.filter(
      (name) =>
        cluster.topic(name) !== undefined || cluster.topicError(name) === 'LEADER_NOT_AVAILABLE',
    );
  }

  /** Joins the topic of a destination; of a destination that uses it no more, unless it was left. */
  #joinOrTell(topic: string): 'former' | undefined {
    const { topology, config } = this.#options;
    const destinationId = topology.dedicatedDestination(topic);
    if (destinationId === undefined || this.#stopped) return undefined;
    const destination = config.destination(destinationId);
    if (destination?.topic === 'dedicated' || config.isUnreadable(destinationId)) {
      this.#left.delete(topic);
      this.#goneSinceMs.delete(topic);
      this.#join(topic, destinationId);
      return undefined;
    }
    if (!this.#left.has(topic)) this.#join(topic, destinationId);
    return 'former';
  }

  /** Leaves a former topic that is empty, and removes that of a destination that is gone. Never rejects. */
  async #cleanUp(topic: string, admin: KafkaAdmin): Promise<void> {
    const destinationId = this.#options.topology.dedicatedDestination(topic);
    if (destinationId === undefined || this.#stopped) return;
    const isGone = this.#isGone(destinationId);
    if (isGone && !this.#isRemovable(topic)) return;
    try {
      const ranges = await admin.offsets(topic);
      if (!(await this.#isEmpty(topic, ranges, destinationId, admin))) {
        // A router that had not seen the change yet may have written to it after it was left.
        this.#left.delete(topic);
        return;
      }
      await this.#leave(topic, destinationId);
      if (isGone) await this.#remove(topic, destinationId, admin);
    } catch (error) {
      // It was removed meanwhile, a partition of it has no leader, or Kafka does not let it be removed.
      this.#options.events.formerTopicKept(topic, asError(error));
    }
  }

  /** The first worker that found a topic empty has removed it. */
  async #forgetAllBut(names: ReadonlySet<string>): Promise<void> {
    const { topology } = this.#options;
    for (const topic of this.#readers.keys()) {
      const destinationId = topology.dedicatedDestination(topic);
      if (destinationId === undefined || names.has(topic)) continue;
      // A topic that is still needed is read again as soon as it is created again.
      if (this.#isGone(destinationId)) await this.#leave(topic, destinationId);
    }
    for (const topic of this.#known) {
      if (names.has(topic) || this.#readers.has(topic)) continue;
      this.#known.delete(topic);
      this.#left.delete(topic);
      this.#goneSinceMs.delete(topic);
    }
  }

  #join(topic: string, destinationId: string): void {
    if (this.#readers.has(topic)) return;
    const groupId = this.#options.topology.dedicatedGroup(destinationId);
    this.#readers.set(topic, this.#options.read(topic, groupId, destinationId));
    this.#options.events.dedicatedTopicJoined(topic);
  }

  async #leave(topic: string, destinationId: string): Promise<void> {
    const reader = this.#readers.get(topic);
    this.#left.add(topic);
    this.#readers.delete(topic);
    await reader?.stop(drainMs);
    this.#options.left(destinationId);
  }

  #isGone(destinationId: string): boolean {
    const { config } = this.#options;
    return config.destination(destinationId) === undefined && !config.isUnreadable(destinationId);
  }

  #isRemovable(topic: string): boolean {
    const nowMs = this.#options.clock.steadyNow();
    const sinceMs = this.#goneSinceMs.get(topic) ?? nowMs;
    this.#goneSinceMs.set(topic, sinceMs);
    return nowMs - sinceMs >= removalGraceMs && this.#options.config.isFresh();
  }

  /** The workers together have finished every record of these ranges of the topic. */
  async #isEmpty(
    topic: string,
    ranges: readonly OffsetRange[],
    destinationId: string,
    admin: KafkaAdmin,
  ): Promise<boolean> {
    const groupId = this.#options.topology.dedicatedGroup(destinationId);
    const committed = await admin.committedOffsets(groupId, [topic]);
    return isFinished(ranges, committed.get(topic));
  }

  /**
   * Leaving took a while. Meanwhile the destination may have been created again, and its topic written to. And what
   * makes a topic be left may be the word of a former leader, which is not enough to remove records.
   */
  async #remove(topic: string, destinationId: string, admin: KafkaAdmin): Promise<void> {
    const ranges = await writtenRanges(this.#options.kafka, topic);
    if (!(await this.#isEmpty(topic, ranges, destinationId, admin))) return;
    // Checked last, because nothing may happen between this check and the removal; and by what is stored now, not
    // by what was two seconds ago.
    await this.#options.config.caughtUp();
    if (!this.#isGone(destinationId)) return;
    await admin.deleteTopic(topic);
    // Kafka may still list the topic for a while. It is not read again.
    this.#goneSinceMs.delete(topic);
    this.#options.events.dedicatedTopicRemoved(topic);
  }
}
