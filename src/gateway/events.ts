import type { PostriderError } from '../errors.ts';
import type { Rejection } from '../event/rejection.ts';
import type { Clock } from '../ops/clock.ts';
import { LogThrottle } from '../ops/log-throttle.ts';
import type { Logger } from '../ops/log.ts';
import { add } from '../ops/metrics.ts';
import type { WriterEvents } from './ingest-writer.ts';
import type { GatewayMetrics } from './metrics.ts';
import type { Oddity } from './odd-fields.ts';
import type { Refusal } from './refusal.ts';

/** A field's name is cut to this length in the log. */
const mostCharacters = 40;

/** The events of this stage, logged and counted. Never with values or write keys. */
export class GatewayEvents implements WriterEvents {
  readonly #log: Logger;
  readonly #metrics: GatewayMetrics;
  readonly #clock: Clock;
  readonly #refusals = new LogThrottle();
  readonly #rejections = new LogThrottle();
  readonly #oddities = new LogThrottle();
  /** A partition may be away for hours, with many requests a second. */
  readonly #someLost = new LogThrottle(10_000);

  constructor(log: Logger, metrics: GatewayMetrics, clock: Clock) {
    this.#log = log;
    this.#metrics = metrics;
    this.#clock = clock;
  }

  /** A request was answered with success, and these of its calls were rejected. */
  accepted(calls: number, rejections: readonly Rejection[], receivedMs: number): void {
    add(this.#metrics.requests, 'accepted');
    this.#metrics.calls += calls;
    this.#metrics.requestSeconds.add((this.#clock.now() - receivedMs) / 1_000);
    for (const { reason } of rejections) add(this.#metrics.rejected, reason);
    if (rejections.length === 0) return;
    const unlogged = this.#rejections.pass(this.#clock.now());
    if (unlogged === undefined) return;
    const reasons = [...new Set(rejections.map(({ reason }) => reason))];
    this.#log.warn({ reasons, calls: rejections.length, unlogged }, 'calls rejected');
  }

  /**
   * Suspicious fields, for the people who make the calls.
   * @param source the source's id
   */
  odd(oddities: readonly Oddity[], source: string | undefined): void {
    for (const { reason } of oddities) add(this.#metrics.oddFields, reason);
    const unlogged = this.#oddities.pass(this.#clock.now());
    if (unlogged === undefined) return;
    const { reason, field, meant } = oddities[0] as Oddity;
    const facts = { source, reason, field: field.slice(0, mostCharacters), meant, unlogged };
    this.#log.warn(facts, 'a field of a call is probably a mistake');
  }

  refusedRequest({ code, message }: Refusal): void {
    add(this.#metrics.requests, code);
    const unlogged = this.#refusals.pass(this.#clock.now());
    if (unlogged !== undefined) this.#log.info({ code, message, unlogged }, 'request refused');
  }

  /** A defect in our code. The client sends the request again. */
  failed(error: unknown): void {
    this.#log.error({ err: error }, 'a request could not be handled');
  }

  kafkaLost(): void {
    this.#log.warn({}, 'Kafka does not acknowledge; answering requests with 503 until it does');
  }

  givenUp(calls: number, isKafkaThere: boolean): void {
    this.#metrics.givenUp += calls;
    if (!isKafkaThere) return;
    const unlogged = this.#someLost.pass(this.#clock.now());
    if (unlogged === undefined) return;
    const says = 'Kafka does not acknowledge some partitions; answering their requests with 503';
    this.#log.warn({ calls, unlogged }, says);
  }

  kafkaBack(): void {
    this.#log.info({}, 'Kafka acknowledges again');
  }

  refused(error: PostriderError): void {
    this.#log.error(
      { err: error },
      'Kafka refuses a record for ingest.rejected; its request is answered with an error',
    );
  }
}
