import { formatDuration } from '../duration.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { standForExclusive } from '../kafka/exclusive.ts';
import {
  followTable,
  newestByKey,
  type FollowedTable,
  type TableRules,
} from '../kafka/follow/table.ts';
import { asKafka } from '../kafka/produce/kafka-clock.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { SteadyClock, Timer } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { MetricsRegistry } from '../ops/metrics.ts';
import { waitAtMost } from '../ops/wait.ts';
import { decodeNotice } from '../event/notice.ts';
import type { Config } from '../resources/config/config.ts';
import type { FollowedPauses } from '../resources/pauses/pauses.ts';
import type { Topology } from '../topology.ts';
import { NoticeEvents } from './events.ts';
import { Watcher } from './watcher.ts';
import { WorkerReports } from './worker-reports.ts';

export interface NoticesDeps {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly config: Config;
  readonly pauses: Pick<FollowedPauses, 'get' | 'begin'>;
  readonly producer: Pick<Producer, 'send' | 'clockAheadMs'>;
  readonly clock: SteadyClock;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  /** The default for destinations without their own; undefined: never. */
  readonly disableAfterMs: number | undefined;
}

export interface Notices {
  stop(): Promise<void>;
}

const lookMs = 5_000;
const tryAgainMs = 30_000;
const leaveMs = 2_000;
/** Nothing waits for a notice. */
const maxWaitMs = 1_000;

/**
 * Sends a notice when a destination has failed for long, and pauses it after `disableAfter`. Every delivery
 * process is a candidate, and one of them does it.
 */
export function startNotices(deps: NoticesDeps): Notices {
  const { kafka, topology } = deps;
  const { topics, groups } = topology;
  const log = deps.log.child({ role: 'notices' });
  const events = new NoticeEvents(log, deps.metrics);
  // What workers report is by Kafka's clock.
  const clock = asKafka(deps.clock, deps.producer);
  let watch: Watch | undefined;
  const candidate = standForExclusive(
    kafka,
    { groupId: groups.notices, topic: topics.notices, clock, log },
    (isHeld) => {
      if (isHeld === (watch !== undefined)) return;
      events.turned(isHeld);
      void watch?.stop();
      watch = isHeld ? new Watch({ ...deps, clock, log }, events) : undefined;
    },
  );
  return {
    stop: async () => {
      await watch?.stop();
      await candidate.release();
    },
  };
}

/** The time from getting the right to watch to losing it. */
class Watch {
  readonly #deps: NoticesDeps;
  readonly #events: NoticeEvents;
  readonly #watcher: Watcher;
  #table: { stop(): Promise<void> } | undefined;
  #timer: Timer | undefined;
  #work: Promise<void>;
  #stopped = false;

  constructor(deps: NoticesDeps, events: NoticeEvents) {
    const { topology, disableAfterMs, config, pauses, producer } = deps;
    const { topics, retryTiersMs } = topology;
    this.#deps = deps;
    this.#events = events;
    this.#watcher = new Watcher({
      config,
      pauses,
      send: (records) => producer.send(records),
      topics: { ...topics, retry: topology.retryTopic(Math.min(...retryTiersMs)) },
      keptFor: formatDuration(topology.pausedRetentionMs),
      disableAfterMs,
      events,
    });
    this.#work = this.#try(() => this.#load());
  }

  /** Writes that were begun are finished, but not for long: the next watcher writes the same. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#table?.stop();
    await waitAtMost(leaveMs, this.#work);
  }

  /** Loads the notices that were sent before, because decisions depend on them. */
  async #load(): Promise<void> {
    const { notices, destinationStatus } = this.#deps.topology.topics;
    const sent = this.#follow(
      notices,
      newestByKey((_, value) => decodeNotice(value)),
    );
    await sent.loaded;
    this.#watcher.recall(sent.current, this.#deps.clock.now());
    // From here on, this process writes the notices.
    const reports = this.#follow(destinationStatus, {
      create: (former: WorkerReports | undefined) => new WorkerReports(former),
      apply: (table, { key, value }) => {
        table.put(key?.toString() ?? '', value);
      },
    });
    await reports.loaded;
    await this.#look(reports);
  }

  /** In place of what was followed before. */
  #follow<T, K>(topic: string, rules: TableRules<T, K>): FollowedTable<T, K> {
    void this.#table?.stop();
    const table = followTable(this.#deps.kafka, { topic, maxWaitMs, log: this.#deps.log }, rules);
    this.#table = table;
    return table;
  }

  async #look(reports: { readonly current: WorkerReports }): Promise<void> {
    if (this.#stopped) return;
    await this.#watcher.look(reports.current, this.#deps.clock.now());
    this.#lookAgain(lookMs, () => this.#look(reports));
  }

  #lookAgain(delayMs: number, work: () => Promise<void>): void {
    if (this.#stopped) return;
    this.#timer = this.#deps.clock.after(delayMs, () => {
      this.#work = this.#try(work);
    });
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#stopped) return;
      this.#events.failed(error);
      this.#lookAgain(tryAgainMs, work);
    }
  }
}
