import { PostriderError } from '../../errors.ts';
import type { Clock } from '../../ops/clock.ts';
import type { ProducerCluster } from '../cluster/writing-cluster.ts';
import { failureNamed, failureOf, type KafkaFailure } from '../failure.ts';
import { backoffMs } from '../retrying.ts';
import { PartitionMap } from '../record.ts';
import type { Compressor } from '../protocol/compressor.ts';
import type { ProducedPartition } from '../protocol/produce.ts';
import type { Accumulator } from './accumulator.ts';
import { BrokerClocks, provenAheadMs } from './kafka-clock.ts';
import type { ProducerEvents } from './events.ts';
import {
  isLeaderDoubted,
  judgeAnswer,
  type AnswerError,
  type AnswerVerdict,
} from './judge-answer.ts';
import type { KnownTopics } from './known-topics.ts';
import { OutgoingBatch, requestOf } from './outgoing-batch.ts';
import type { Slice } from './partition-queue.ts';
import { ProducerId } from './sequence.ts';

export interface SenderOptions {
  readonly cluster: ProducerCluster;
  readonly compressor: Compressor;
  readonly topics: KnownTopics;
  /** The source of the records, to which their end is reported. */
  readonly accumulator: Accumulator;
  /** See `ProducerOptions`. */
  readonly deliveryTimeoutMs: number | undefined;
  readonly events: ProducerEvents;
  readonly clock: Clock;
  /** Resolves to false after a stop. */
  pause(ms: number): Promise<boolean>;
  /** After this, nothing is sent, and answers no longer count. */
  readonly stop: AbortSignal;
}

/**
 * The time that brokers may take to replicate a batch to all in-sync replicas. Kafka replaces a hanging broker
 * after about ten seconds, so a request to it should not wait for much longer.
 */
const ackTimeoutMs = 8_000;

/** A broker that refuses a batch gets all its bytes again. */
const longestAgainMs = 5_000;

/** A batch and Kafka's answer to it. */
interface Answered {
  readonly batch: OutgoingBatch;
  readonly failure: KafkaFailure;
}

/**
 * Writes every slice, however long Kafka is unreachable. Each leader gets one request, and its answer about a
 * partition concerns that partition alone: the batch is written, or sent again until it is, or found to hold
 * a record that Kafka will never accept.
 */
export class Sender {
  readonly #options: SenderOptions;
  readonly #clocks = new BrokerClocks();
  readonly #producerId: ProducerId;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#producerId = new ProducerId(options);
  }

  /** See `BrokerClocks`. */
  get clockAheadMs(): number {
    return this.#clocks.aheadMs;
  }

  /** The slices are of partitions with nothing in flight. */
  send(slices: readonly Slice[]): void {
    const batches = slices.map((slice) => new OutgoingBatch(slice));
    this.#options.topics.use(topicsOf(batches));
    void this.#send(batches, 0);
  }

  /** @param failures of these batches in a row, until now */
  async #send(batches: readonly OutgoingBatch[], failures: number): Promise<void> {
    const { topics, compressor, clock, stop } = this.#options;
    if (stop.aborted) return;
    const wanted = this.#wanted(batches);
    if (wanted.length === 0) return;
    const identity = this.#producerId.known;
    if (identity === undefined) {
      if ((await this.#producerId.ask(topicsOf(wanted))) !== undefined)
        void this.#send(wanted, failures);
      return;
    }
    const byLeader = new Map<number, OutgoingBatch[]>();
    const leaderless: Answered[] = [];
    const unwritable: Answered[] = [];
    for (const batch of wanted) {
      const { topic, partition } = batch.queue;
      const leader = topics.leader(topic, partition);
      batch.leaderEpoch = topics.leaderEpoch(topic, partition);
      if (leader === undefined) {
        leaderless.push({ batch, failure: topics.leaderless(topic, partition) });
        continue;
      }
      try {
        batch.encode(identity, compressor, clock.now());
      } catch (error) {
        unwritable.push({ batch, failure: failureOf(error) });
        continue;
      }
      const theirs = byLeader.get(leader);
      if (theirs === undefined) byLeader.set(leader, [batch]);
      else theirs.push(batch);
    }
    for (const [leader, theirs] of byLeader) void this.#ask(leader, theirs, failures);
    void this.#elsewhere(leaderless, failures + 1);
    void this.#again(unwritable, failures + 1);
  }

  /** The batches that somebody waits for. The others may have arrived without an answer. */
  #wanted(batches: readonly OutgoingBatch[]): readonly OutgoingBatch[] {
    const { accumulator, deliveryTimeoutMs } = this.#options;
    if (deliveryTimeoutMs === undefined) return batches;
    return batches.filter((batch) => {
      if (!batch.isGivenUp) return true;
      this.#forget(batch);
      accumulator.landed(batch.queue);
      return false;
    });
  }

  async #ask(leader: number, batches: OutgoingBatch[], failures: number): Promise<void> {
    const { cluster, clock, stop, deliveryTimeoutMs = ackTimeoutMs } = this.#options;
    const sentMs = clock.now();
    const timeoutMs = Math.min(ackTimeoutMs, deliveryTimeoutMs);
    let answers: readonly ProducedPartition[];
    try {
      answers = await cluster.produce(leader, requestOf(batches, timeoutMs));
    } catch (error) {
      const failure = failureOf(error);
      const unanswered = batches.map((batch) => ({ batch, failure }));
      if (!stop.aborted) void this.#elsewhere(unanswered, failures + 1);
      return;
    }
    if (stop.aborted) return;
    // What is sent again may have been appended by the request before.
    if (failures === 0) this.#readClock(leader, answers, sentMs);
    const judged = judgeAll(batches, answers);
    this.#written(judged.written);
    this.#condemned(judged.condemned, failures);
    for (const { batch } of judged.renew) batch.renew();
    for (const { batch } of judged.forgotten) this.#beginEpoch(batch);
    void this.#again([...judged.again, ...judged.renew, ...judged.forgotten], failures + 1);
    void this.#elsewhere(judged.elsewhere, failures + 1);
  }

  /** The batch is not sent again. It may have arrived, and Kafka would take what gets the same numbers for that. */
  #forget(batch: OutgoingBatch): void {
    if (batch.queue.sequence !== undefined) this.#beginEpoch(batch);
  }

  #beginEpoch(batch: OutgoingBatch): void {
    if (!batch.beginEpoch()) this.#producerId.replace();
  }

  #readClock(leader: number, answers: readonly ProducedPartition[], sentMs: number): void {
    const { clock, events } = this.#options;
    const appendedMs = answers.find((each) => each.appendedMs !== undefined)?.appendedMs;
    if (appendedMs === undefined) return;
    const nowMs = clock.now();
    this.#clocks.answered(leader, provenAheadMs(appendedMs, sentMs, nowMs), nowMs);
    events.clockRead(this.clockAheadMs);
  }

  #written(written: readonly Answered[]): void {
    if (written.length === 0) return;
    const { accumulator, events } = this.#options;
    const records = written.reduce((sum, { batch }) => sum + batch.records.length, 0);
    events.written(records, written.length);
    for (const { batch } of written) {
      const { records: landed } = batch;
      batch.written();
      batch.queue.trouble.ended();
      accumulator.settle(landed);
    }
    this.#goOn(written);
  }

  /** Halves the batches that Kafka refuses, until the faulty record is alone. */
  #condemned(condemned: readonly Answered[], failures: number): void {
    const { accumulator, events } = this.#options;
    for (const { batch, failure } of condemned) {
      const { records, queue } = batch;
      // A former request may have arrived without its answer. Kafka would take what gets the same numbers for that.
      if (failures > 0) this.#beginEpoch(batch);
      if (records.length > 1) batch.split();
      else {
        batch.refused();
        events.refused(queue.topic);
        accumulator.settle(records, refusal(queue, records[0]?.bytes, failure));
      }
    }
    this.#goOn(condemned);
  }

  /** Continues with what is left of each slice, if anything. */
  #goOn(answered: readonly Answered[]): void {
    const left: OutgoingBatch[] = [];
    for (const { batch } of answered) {
      if (batch.records.length > 0) left.push(batch);
      else this.#options.accumulator.landed(batch.queue);
    }
    if (left.length > 0) void this.#send(left, 0);
  }

  /** Reports failures, and lets records go that have another place. Returns the batches that stay. */
  #failed(failed: readonly Answered[], failures: number): readonly Answered[] {
    this.#report(failed, failures);
    return failed.filter(({ batch, failure }) => {
      const { queue, left } = batch;
      if (!this.#options.accumulator.giveBack(queue, left, failure.reason)) return true;
      this.#forget(batch);
      return false;
    });
  }

  /** Sends again after a while, to whoever is known as the leader by then. */
  async #again(answered: readonly Answered[], failures: number): Promise<void> {
    const failed = this.#failed(answered, failures);
    if (failed.length === 0) return;
    const doubted = failed.filter(({ failure }) => isLeaderDoubted(failure.reason));
    if (doubted.length > 0)
      this.#options.topics.refreshInTurn(topicsOf(batchesOf(doubted))).catch(() => undefined);
    await this.#later(batchesOf(failed), failures, backoffMs(failures, longestAgainMs));
  }

  /** Sends again as soon as a later leader is known, or else after a while. */
  async #elsewhere(answered: readonly Answered[], failures: number): Promise<void> {
    const failed = this.#failed(answered, failures);
    if (failed.length === 0) return;
    const { topics, accumulator } = this.#options;
    const batches = batchesOf(failed);
    const asked = failed.some(({ failure }) => isLeaderDoubted(failure.reason))
      ? topics.refreshInTurn(topicsOf(batches))
      : topics.refresh(topicsOf(batches));
    await asked.catch(() => undefined);
    const atOnce: OutgoingBatch[] = [];
    const later: OutgoingBatch[] = [];
    for (const batch of batches) {
      const { queue } = batch;
      if (accumulator.move(queue, batch.left)) continue;
      const { topic, partition } = queue;
      const hasLeader = topics.leader(topic, partition) !== undefined;
      // Two brokers may each name the other as the leader, and only one of them knows of the later one.
      const isLater = topics.leaderEpoch(topic, partition) > batch.leaderEpoch;
      (hasLeader && isLater ? atOnce : later).push(batch);
    }
    if (atOnce.length > 0) void this.#send(atOnce, failures);
    if (later.length > 0) await this.#later(later, failures, backoffMs(failures));
  }

  async #later(batches: readonly OutgoingBatch[], failures: number, waitMs: number): Promise<void> {
    // Not awaited, because in an outage each promise would wait for the next without end.
    if (await this.#options.pause(waitMs)) void this.#send(batches, failures);
  }

  /** Reports each reason once. */
  #report(failed: readonly Answered[], failures: number): void {
    const { accumulator, events } = this.#options;
    const reasons = new Map(failed.map(({ failure }) => [failure.reason, failure]));
    for (const failure of reasons.values()) {
      const same = failed.filter((each) => each.failure.reason === failure.reason);
      const topics = topicsOf(batchesOf(same));
      events.failed(failure, { failures, topics, queuedRecords: accumulator.records });
    }
  }
}

function judgeAll(
  batches: readonly OutgoingBatch[],
  answers: readonly ProducedPartition[],
): Readonly<Record<AnswerVerdict, Answered[]>> {
  const byPlace = new PartitionMap<ProducedPartition>();
  for (const answer of answers) byPlace.set(answer, answer);
  const judged: Record<AnswerVerdict, Answered[]> = {
    written: [],
    again: [],
    elsewhere: [],
    renew: [],
    condemned: [],
    forgotten: [],
  };
  for (const batch of batches) {
    const answer = byPlace.get(batch.queue.topic, batch.queue.partition);
    const error: AnswerError = answer?.error ?? 'PartitionUnanswered';
    judged[judgeAnswer(error)].push({ batch, failure: failureNamed(error, answer?.message) });
  }
  return judged;
}

function batchesOf(answered: readonly Answered[]): OutgoingBatch[] {
  return answered.map(({ batch }) => batch);
}

function topicsOf(batches: readonly OutgoingBatch[]): string[] {
  return [...new Set(batches.map(({ queue }) => queue.topic))];
}

function refusal(
  { topic, partition }: Slice['queue'],
  bytes: number = 0,
  { message }: KafkaFailure,
): PostriderError {
  return new PostriderError(
    'record-refused',
    `Kafka refused a record of ${bytes} bytes for topic ${topic}, partition ${partition}: ${message}`,
  );
}
