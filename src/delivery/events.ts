import { formatDuration } from '../duration.ts';
import type { Envelope } from '../event/envelope.ts';
import type { TopicPartition } from '../kafka/record.ts';
import type { Clock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { FencedBy } from '../resources/fence/fence.ts';
import type { Destination } from '../resources/resource.ts';
import type { BreakerState } from './lane/breaker.ts';
import type { Endpoint } from './lane/endpoint.ts';
import type { Job } from './job.ts';
import { LogThrottle, LogThrottles } from '../ops/log-throttle.ts';
import { add } from '../ops/metrics.ts';
import type { DeliveryMetrics } from './metrics.ts';
import { outcomeLabel, reasonLabel } from './labels.ts';
import { conditionShownBy } from './outcome.ts';
import type { DeadLetterReason, Outcome, Retryable } from './outcome.ts';
import type { DeferralCause } from './retry-policy.ts';

/** What happens in this stage, logged and counted. No bodies, no secrets, no queries of URLs. */
export class DeliveryEvents {
  readonly #log: Logger;
  readonly #metrics: DeliveryMetrics;
  readonly #clock: Clock;
  readonly #deadLetterLogs = new LogThrottles<string>();
  readonly #fencedLog = new LogThrottle();
  /** Those whose `maxInFlight` has been told of. A change of a destination makes another object. */
  readonly #bounded = new WeakSet<Destination>();

  constructor(log: Logger, metrics: DeliveryMetrics, clock: Clock) {
    this.#log = log;
    this.#metrics = metrics;
    this.#clock = clock;
  }

  delivered(job: Pick<Job, 'envelope' | 'hasReturned'>): void {
    this.#metrics.delivered += 1;
    const ageMs = this.#clock.now() - job.envelope.appendTimeMs;
    const { ageSeconds } = this.#metrics;
    const isDetour = job.hasReturned || job.envelope.redrivenMs !== undefined;
    (isDetour ? ageSeconds.detour : ageSeconds.straight).observe(ageMs / 1_000);
  }

  requestEnded(job: Job, endpoint: Endpoint, outcome: Outcome, tookMs: number): void {
    this.#metrics.requestSeconds.observe(tookMs / 1_000);
    add(this.#metrics.requests, outcomeLabel(outcome));
    // An answer of 429 only asks for patience; what is refused for good is in the dead letters.
    if (outcome.kind === 'retryable' && conditionShownBy(outcome) !== 'up')
      this.#endpointFailed(job, endpoint, outcome);
  }

  /** The URL does not get an event that another URL of its destination gets. */
  urlSkipped(destination: string, endpoint: Endpoint): void {
    const cause = endpoint.skipCause;
    add(this.#metrics.urlSkips, cause);
    const unlogged = endpoint.skipLog.pass(this.#clock.now());
    if (unlogged === undefined) return;
    const fields = { destination, url: endpoint.prepared.publicUrl, cause, missed: unlogged + 1 };
    this.#log.warn(fields, 'a URL misses events that another URL of its destination gets');
  }

  retryPlanned(tierMs: number): void {
    add(this.#metrics.retries, formatDuration(tierMs));
  }

  deferred(cause: DeferralCause, events: number): void {
    add(this.#metrics.deferrals, cause, events);
  }

  deadLettered(reason: DeadLetterReason, detail: string, envelope: Envelope | undefined): void {
    const label = reasonLabel(reason);
    add(this.#metrics.deadLetters, label);
    const unlogged = this.#deadLetterLogs.pass(label, this.#clock.now());
    if (unlogged === undefined) return;
    const fields = {
      destination: envelope?.destinationId,
      messageId: envelope?.messageId,
      attempts: envelope?.attempts,
      reason,
      detail,
      unlogged,
    };
    this.#log.warn(fields, 'event given up: it is in the dead letters');
  }

  fenced({ envelope }: Job, fencedBy: FencedBy): void {
    add(this.#metrics.fenced, fencedBy);
    const unlogged = this.#fencedLog.pass(this.#clock.now());
    if (unlogged === undefined) return;
    const { destinationId: destination, sourceId: source, messageId } = envelope;
    const fields = { destination, source, messageId, fencedBy, unlogged };
    this.#log.info(fields, 'event dropped: its user was deleted after the call');
  }

  fenceChanged(isFresh: boolean): void {
    if (isFresh) this.#log.info({}, 'the deletions are known again: sending goes on');
    else this.#log.warn({}, 'the latest deletions are not known: nothing is sent until they are');
  }

  breakerChanged(destination: string, state: BreakerState): void {
    add(this.#metrics.breakerChanges, state);
    this.#log.info({ destination, state }, 'the breaker of an endpoint changed');
  }

  /** Once for each version of the destination, however often its lane is forgotten and made anew. */
  maxInFlightBounded(destination: Destination, most: number): void {
    if (this.#bounded.has(destination)) return;
    this.#bounded.add(destination);
    this.#log.warn(
      { destination: destination.id, maxInFlight: destination.maxInFlight, used: most },
      "maxInFlight is more than a quarter of this worker's DELIVERY_MAX_IN_FLIGHT, which is used instead",
    );
  }

  partitionStuck(partition: TopicPartition, offset: number, error: Error): void {
    this.#metrics.stuckRecords.inc();
    const fields = { topic: partition.topic, partition: partition.partition, offset, err: error };
    this.#log.error(fields, 'dead letters refuse a record: its partition stops here');
  }

  /** They come again although they were finished: their partition was away before that was committed. */
  redelivered(records: number): void {
    this.#metrics.redelivered.inc(records);
  }

  commitFailed(groupId: string, error: Error): void {
    this.#metrics.commitFailures.inc();
    this.#log.debug({ groupId, reason: error.message }, 'a commit failed; trying again');
  }

  /** `topics`: what the group reads. */
  joined(groupId: string, topics: 'shared' | 'dedicated', partitions: number): void {
    add(this.#metrics.rebalances, topics);
    this.#log.info({ groupId, partitions }, 'joined the consumer group');
  }

  dedicatedTopicJoined(topic: string): void {
    this.#log.info({ topic }, 'reading a dedicated topic');
  }

  dedicatedTopicRemoved(topic: string): void {
    this.#log.info({ topic }, 'removed the dedicated topic of a deleted destination');
  }

  dedicatedTopicsUnknown(error: Error): void {
    this.#log.warn({ reason: error.message }, 'cannot look at the dedicated topics; trying again');
  }

  #endpointFailed(job: Job, endpoint: Endpoint, { cause, detail }: Retryable): void {
    const unlogged = endpoint.failureLogs.pass(cause, this.#clock.now());
    if (unlogged === undefined) return;
    const fields = {
      destination: job.envelope.destinationId,
      url: endpoint.prepared.publicUrl,
      messageId: job.messageId,
      attempt: job.envelope.attempts + 1,
      cause,
      detail,
      unlogged,
    };
    this.#log.error(fields, 'a request to an endpoint failed');
  }
}
