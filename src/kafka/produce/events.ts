import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import type { KafkaFailure } from '../failure.ts';

/** Events for metrics. */
export interface ProducerHooks {
  /** Called once for each answer of Kafka. */
  written?(answer: { readonly records: number; readonly partitions: number }): void;
  /** Batches for these topics failed and will be sent again. `reason` is from a closed set. */
  failed?(reason: string, topics: readonly string[]): void;
  /** Records wait for a topic of which Kafka reports nothing, and which is looked for again. */
  unknown?(reason: string, topic: string): void;
  /** A record can never be written. */
  refused?(topic: string): void;
}

const forgotten =
  'Kafka no longer has the state of this producer for the partition; a new epoch begins there';
/** Explanations for errors whose name in Kafka does not say what an operator has to know. */
const meanings = new Map([
  ['NOT_ENOUGH_REPLICAS', 'fewer replicas are in sync than min.insync.replicas asks for'],
  ['TOPIC_AUTHORIZATION_FAILED', "Kafka's ACLs do not let this principal write to the topic"],
  ['CLUSTER_AUTHORIZATION_FAILED', "Kafka's ACLs let this principal write to no topic"],
  ['OUT_OF_ORDER_SEQUENCE_NUMBER', forgotten],
  ['UNKNOWN_PRODUCER_ID', forgotten],
  ['INVALID_PRODUCER_EPOCH', forgotten],
]);

/** Each request fails every few seconds during an outage. */
const sayAgainAfterMs = 10_000;

/** A change of the difference between two clocks that is worth a line. */
const clockOffMs = 10_000;

/** The answers of a broker to the first requests while it creates its internal topics. */
const startingUp: ReadonlySet<string> = new Set([
  'COORDINATOR_LOAD_IN_PROGRESS',
  'COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR',
]);
const startingFailures = 3;

/** Counts and logs what happens to a producer, with at most one line of each kind in ten seconds. */
export class ProducerEvents {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #hooks: ProducerHooks;
  readonly #saidAt = new Map<string, number>();
  #saidAheadMs = 0;

  constructor(log: Logger, clock: Clock, hooks: ProducerHooks) {
    this.#log = log;
    this.#clock = clock;
    this.#hooks = hooks;
  }

  written(records: number, partitions: number): void {
    this.#hooks.written?.({ records, partitions });
  }

  refused(topic: string): void {
    this.#hooks.refused?.(topic);
  }

  /** @param failures of the same batches in a row */
  failed(
    failure: KafkaFailure,
    about: { failures: number; topics: readonly string[]; queuedRecords: number },
  ): void {
    this.#hooks.failed?.(failure.reason, about.topics);
    this.#warn('Kafka did not accept a batch; trying again', failure, about);
  }

  /** Records wait for a topic of which Kafka reports nothing. */
  unknown(topic: string, failure: KafkaFailure): void {
    this.#hooks.unknown?.(failure.reason, topic);
    this.#warn(`Records wait for topic ${topic}`, failure, { topic });
  }

  /** Without a producer id nothing is sent. */
  unidentified(
    failure: KafkaFailure,
    about: { failures: number; topics: readonly string[] },
  ): void {
    this.#hooks.failed?.(failure.reason, about.topics);
    if (startingUp.has(failure.reason) && about.failures <= startingFailures) return;
    this.#warn('Kafka returns no producer id; trying again', failure, about);
  }

  /** @param aheadMs of Kafka's clock; negative: behind */
  clockRead(aheadMs: number): void {
    if (Math.abs(aheadMs - this.#saidAheadMs) < clockOffMs || !this.#maySay('clock')) return;
    this.#saidAheadMs = aheadMs;
    const seconds = Math.round(Math.abs(aheadMs) / 1_000);
    const is =
      aheadMs === 0 ? 'agrees with' : `is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
    this.#log.warn({ aheadMs }, `This machine's clock ${is} Kafka's`);
  }

  #warn(what: string, { reason, message }: KafkaFailure, about: object): void {
    if (!this.#maySay(`${what} ${reason}`)) return;
    const meaning = meanings.get(reason);
    const why = meaning === undefined ? message : `${message}: ${meaning}`;
    this.#log.warn({ reason, ...about }, `${what}: ${why}`);
  }

  #maySay(kind: string): boolean {
    const now = this.#clock.now();
    if (now - (this.#saidAt.get(kind) ?? -Infinity) < sayAgainAfterMs) return false;
    this.#saidAt.set(kind, now);
    return true;
  }
}
