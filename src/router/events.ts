import { PostriderError } from '../errors.ts';
import { shownError, type Rejection } from '../event/rejection.ts';
import type { IncomingRecord } from '../kafka/record.ts';
import type { Clock } from '../ops/clock.ts';
import { LogThrottle, LogThrottles } from '../ops/log-throttle.ts';
import type { Logger } from '../ops/log.ts';
import { add } from '../ops/metrics.ts';
import type { RouterMetrics } from './metrics.ts';

/** The events of this stage, logged and counted. Never with values or write keys. */
export class RouterEvents {
  readonly #log: Logger;
  readonly #metrics: RouterMetrics;
  readonly #clock: Clock;
  readonly #rejections = new LogThrottle();
  /** By topic and partition. */
  readonly #schemaDelays = new LogThrottles<string>();
  /** By topic. */
  readonly #detours = new LogThrottles<string>(60_000);

  constructor(log: Logger, metrics: RouterMetrics, clock: Clock) {
    this.#log = log;
    this.#metrics = metrics;
    this.#clock = clock;
  }

  routed(record: IncomingRecord, copies: number): void {
    this.#metrics.routed += 1;
    this.#metrics.events += copies;
    this.#metrics.ageSeconds.add((this.#clock.now() - record.timestampMs) / 1_000);
  }

  /** No destination takes the call. */
  unwanted(): void {
    this.#metrics.unwanted += 1;
  }

  /** The call is about a user who is suppressed. */
  suppressed(): void {
    this.#metrics.suppressed += 1;
  }

  /** @param stalled the first record of each partition that waits for the schema */
  schemaDelayed(schemaId: number, error: unknown, stalled: readonly IncomingRecord[]): void {
    const isUnknown = error instanceof PostriderError && error.code === 'not-found';
    if (!isUnknown) this.#metrics.registryFailures += 1;
    for (const record of stalled) {
      const place = `${record.topic}/${record.partition}`;
      const unlogged = this.#schemaDelays.pass(place, this.#clock.now());
      if (unlogged === undefined) continue;
      const fields = { schemaId, ...placeOf(record), err: error, unlogged };
      this.#log.warn(fields, 'the schema registry does not return a schema; the partition waits');
    }
  }

  /** A destination's own topic cannot be written, so its event takes the way of all others. */
  detoured(topic: string, error: PostriderError): void {
    this.#metrics.detoured += 1;
    const unlogged = this.#detours.pass(topic, this.#clock.now());
    if (unlogged === undefined) return;
    const fields = { topic, reason: error.message, unlogged };
    this.#log.error(
      fields,
      'a dedicated topic cannot be written; its events go to the shared topic',
    );
  }

  /** The same call has been routed from a smaller offset. */
  duplicate(): void {
    this.#metrics.duplicates += 1;
  }

  /** A message id was dropped before its time, so a duplicate of its call will be routed. */
  idPushedOut(): void {
    this.#metrics.pushedOutIds += 1;
  }

  rejected(record: IncomingRecord, { reason }: Rejection): void {
    add(this.#metrics.rejected, reason);
    const unlogged = this.#rejections.pass(this.#clock.now());
    if (unlogged === undefined) return;
    this.#log.warn({ ...placeOf(record), reason, unlogged }, 'call rejected');
  }

  /** A defect in our code. The record is rejected, and the others continue. */
  failed(record: IncomingRecord, error: unknown): void {
    const frames = error instanceof Error ? (error.stack ?? '').match(/^ +at .*$/gm) : null;
    const fields = { ...placeOf(record), error: shownError(error), frames };
    this.#log.error(fields, 'a call could not be routed');
  }

  partitionStuck(record: IncomingRecord, error: PostriderError): void {
    this.#metrics.stuck.inc();
    const fields = { ...placeOf(record), err: error };
    this.#log.error(
      fields,
      'Kafka refuses a record for ingest.rejected; the partition stops before it',
    );
  }

  joined(partitions: number): void {
    this.#metrics.rebalances.inc();
    this.#log.info({ partitions }, 'joined the group of routers');
  }
}

function placeOf({ topic, partition, offset }: IncomingRecord): object {
  return { topic, partition, offset };
}
