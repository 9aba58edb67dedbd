import type { Cluster } from '../cluster/cluster.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../protocol/errors.ts';
import type { PartitionMetadata } from '../protocol/metadata.ts';
import type { Cursor } from './cursor.ts';
import { Sleeper } from '../../ops/wait.ts';

export interface LeadersOptions {
  readonly cluster: Cluster;
  readonly cursors: ReadonlySet<Cursor>;
  /** The time between refreshes of the topics while nothing is wrong. */
  readonly refreshMs: number;
  readonly signal: AbortSignal;
  /** Its leader is known, and may be another one than before. */
  found(cursor: Cursor): void;
  /** Its topic was deleted and made again. */
  remade(cursor: Cursor): void;
  /** Kafka's ACLs don't let this principal see its topic. */
  refused(cursor: Cursor, error: Error): void;
  /** The cluster was asked, `askedAtMs` by the steady clock. */
  refreshed(askedAtMs: number): void;
  /** The cluster does not answer, or has known of no leader of a partition for long. */
  failed(error: unknown): void;
}

/** Pause between two requests while something is wrong. */
const againMs = 250;
/** The time after which the broker that was asked longest ago is asked, though nothing is wrong. */
const othersMs = 15_000;
/** Elections take less. */
const unledMs = 10_000;

const nobody: PartitionMetadata = { leader: -1, epoch: -1, inSync: [] };

/** Keeps the leaders of cursors, and the ids of their topics, as the cluster last reported them. */
export class Leaders {
  readonly #options: LeadersOptions;
  #askedAtMs = -Infinity;
  #isDue = false;
  #turn: Promise<void> | undefined;
  #turnAtMs = -Infinity;
  readonly #sleeper: Sleeper;

  constructor(options: LeadersOptions) {
    this.#options = options;
    this.#sleeper = new Sleeper(options.signal);
    void this.#run();
  }

  /** Refreshes as soon as possible. */
  refreshSoon(): void {
    this.#isDue = true;
    this.#sleeper.wake();
  }

  /**
   * Hears the broker that was asked longest ago: a leader that has lost touch with the others does not know it, and may
   * be all that is connected. Whoever wants that at the same time shares the answer; rejects if there is none.
   */
  async refreshInTurn(): Promise<void> {
    const { cluster } = this.#options;
    this.#turnAtMs = performance.now();
    this.#turn ??= cluster
      .refreshInTurn(this.#topics())
      .then(() => {
        this.#findAll();
      })
      .finally(() => {
        this.#turn = undefined;
      });
    return this.#turn;
  }

  /** Returns true if the cursor's leader is known, or asking again soon is of no use. */
  find(cursor: Cursor): boolean {
    const { cluster } = this.#options;
    const topic = cluster.topic(cursor.topic);
    if (cluster.topicError(cursor.topic) === 'TOPIC_AUTHORIZATION_FAILED') {
      const what = `topic ${cursor.topic}`;
      this.#options.refused(cursor, new KafkaAnswerError('TOPIC_AUTHORIZATION_FAILED', what));
      return true;
    }
    if (topic === undefined) {
      this.#nobodyLeads(cursor, cluster.topicError(cursor.topic) ?? 'UNKNOWN_TOPIC_OR_PARTITION');
      return false;
    }
    cursor.topicId ??= topic.id;
    if (cursor.topicId !== topic.id) {
      this.#options.remade(cursor);
      return true;
    }
    const { leader, epoch, inSync } = topic.partitions[cursor.partition] ?? nobody;
    const { replica } = cursor;
    // One that has lost touch with its leader goes on answering: nothing is new.
    const hasFallenBehind = replica !== undefined && !inSync.includes(replica.nodeId);
    if (leader !== cursor.leader || hasFallenBehind) cursor.replica = undefined;
    cursor.leader = leader;
    cursor.leaderEpoch = epoch;
    if (leader < 0) {
      this.#nobodyLeads(cursor, 'LEADER_NOT_AVAILABLE');
      return false;
    }
    cursor.unledSinceMs = undefined;
    this.#options.found(cursor);
    return true;
  }

  #nobodyLeads(cursor: Cursor, error: KafkaErrorName): void {
    const nowMs = performance.now();
    cursor.unledSinceMs ??= nowMs;
    if (nowMs - cursor.unledSinceMs < unledMs) return;
    const what = `partition ${cursor.partition} of ${cursor.topic}`;
    this.#options.failed(new KafkaAnswerError(error, what));
  }

  async #run(): Promise<void> {
    const { refreshMs, cursors, signal } = this.#options;
    while (!signal.aborted) {
      const ageMs = performance.now() - this.#askedAtMs;
      const leftMs = (this.#isDue ? againMs : refreshMs) - ageMs;
      if (cursors.size === 0) await this.#sleeper.sleep(refreshMs);
      else if (leftMs > 0) await this.#sleeper.sleep(Math.max(leftMs, 1));
      else await this.#refresh();
    }
  }

  async #refresh(): Promise<void> {
    const { cluster, signal } = this.#options;
    const askedAtMs = performance.now();
    this.#askedAtMs = askedAtMs;
    this.#isDue = false;
    // Nobody waits for that: a broker that hangs may be next.
    if (askedAtMs - this.#turnAtMs >= othersMs) this.refreshInTurn().catch(() => undefined);
    try {
      await cluster.refresh(this.#topics());
    } catch (error) {
      this.#isDue = true;
      if (!signal.aborted) this.#options.failed(error);
      return;
    }
    if (signal.aborted) return;
    this.#findAll();
    this.#options.refreshed(askedAtMs);
  }

  #topics(): readonly string[] {
    return [...new Set(Array.from(this.#options.cursors, ({ topic }) => topic))];
  }

  #findAll(): void {
    for (const cursor of [...this.#options.cursors]) if (!this.find(cursor)) this.#isDue = true;
  }
}
