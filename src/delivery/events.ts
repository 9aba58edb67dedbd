import { formatDuration, roughDuration } from '../duration.ts';
import { isTrouble, type DestinationState } from '../event/destination-status.ts';
import type { PutOffLine } from '../event/attempt-line.ts';
import type { Envelope } from '../event/envelope.ts';
import { objectiveMs } from '../event/limits.ts';
import { beginningOf, type LastAnswer } from '../event/last-answer.ts';
import type { TopicPartition } from '../kafka/record.ts';
import type { Clock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { FencedBy } from '../resources/fence/fence.ts';
import type { Destination } from '../resources/resource.ts';
import type { BreakerState } from './lane/breaker.ts';
import type { Endpoint } from './lane/endpoint.ts';
import type { Job } from './job.ts';
import type { IncomingRecord } from '../kafka/record.ts';
import type { Batch } from './batch/batch.ts';
import type { Bundle } from './bundle/bundle.ts';
import type { AttemptJournal } from './journal/journal.ts';
import {
  attemptLine,
  bundleDeferredLine,
  deadLetterLine,
  deferredLine,
  droppedLine,
  keptLine,
  retryLine,
  type Subject,
} from './journal/lines.ts';
import { LogThrottle, LogThrottles } from '../ops/log-throttle.ts';
import { add } from '../ops/metrics.ts';
import { inPlace, type DeliveryMetrics, type DeliveryPath } from './metrics.ts';
import { bodyText } from './kept-answer.ts';
import { outcomeLabel, reasonLabel } from './labels.ts';
import { conditionShownBy } from './outcome.ts';
import type { Outcome, Retryable } from './outcome.ts';
import type { DeferralCause, Later } from './retry-policy.ts';
import type { Spells } from './status/objective.ts';
import type { StateChange } from './status/standing.ts';
import type { TokenSource } from './token/token-source.ts';
import type { GiveUp, PutOff } from './verdict.ts';

const loggedAnswerBytes = 200;

const stateLines: Readonly<Record<DestinationState, string>> = {
  unreadable: 'a destination cannot be read here: its events wait',
  failing: 'a destination fails',
  held: 'a destination asked to be left alone',
  saturated: 'a destination gets more events than it can take',
  slow: 'a destination is slow',
  limited: "a destination's rate limit makes its events wait",
  paused: 'a destination is paused: its events are kept',
  disabled: 'a destination is disabled',
  ok: 'a destination works again',
};

/**
 * The events of this stage: logged, counted and written to `attempts`. Never with bodies, secrets or queries
 * of URLs; of an endpoint's answer at most 200 bytes.
 */
export class DeliveryEvents {
  readonly #log: Logger;
  readonly #metrics: DeliveryMetrics;
  readonly #clock: Clock;
  readonly #journal: AttemptJournal | undefined;
  readonly #deadLetterLogs = new LogThrottles<string>();
  readonly #fencedLog = new LogThrottle();
  readonly #formatLog = new LogThrottle();
  readonly #leftLog = new LogThrottle();
  /** Destinations whose `maxInFlight` was logged as too high. A change of a destination makes another object. */
  readonly #bounded = new WeakSet<Destination>();

  constructor(log: Logger, metrics: DeliveryMetrics, clock: Clock, journal?: AttemptJournal) {
    this.#log = log;
    this.#metrics = metrics;
    this.#clock = clock;
    this.#journal = journal;
  }

  /** @param spells tell whether the destination itself made it late */
  delivered(job: PassedOn, spells: Pick<Spells, 'explainsDelivery'>): void {
    this.#metrics.delivered += 1;
    const nowMs = this.#clock.now();
    const ageMs = nowMs - job.envelope.appendTimeMs;
    this.#metrics.ageSeconds[pathOf(job, spells, nowMs)].add(ageMs / 1_000);
  }

  requestEnded(job: Job, endpoint: Endpoint, outcome: Outcome, tookMs: number): void {
    if (this.#journal?.keeps(job, outcome) === true) {
      const { publicUrl } = endpoint.prepared;
      this.#write(job, (at, subject) => attemptLine(at, subject, publicUrl, outcome, tookMs));
    }
    this.#countRequest(job, endpoint, outcome, tookMs);
  }

  /**
   * @param isForSome the answer is about some of its events, which go out again in smaller batches: it was no attempt of
   * any of them
   */
  batchEnded(
    batch: Batch,
    endpoint: Endpoint,
    outcome: Outcome,
    tookMs: number,
    isForSome: boolean,
  ): void {
    const { jobs } = batch;
    this.#metrics.batchedEvents += jobs.length;
    this.#metrics.batches += 1;
    if (isForSome) this.#metrics.halvedBatches += 1;
    if (this.#journal !== undefined && !isForSome) {
      const { publicUrl } = endpoint.prepared;
      const each = outcome.kind === 'delivered' ? outcome.each : undefined;
      for (const [index, job] of jobs.entries()) {
        const its = each?.[index] ?? outcome;
        if (!this.#journal.keeps(job, its)) continue;
        const place = { id: batch.messageId, place: index + 1, events: jobs.length };
        this.#write(job, (at, subject) => attemptLine(at, subject, publicUrl, its, tookMs, place));
      }
    }
    const [first] = jobs;
    if (first !== undefined) this.#countRequest(first, endpoint, outcome, tookMs);
  }

  #countRequest(job: Job, endpoint: Endpoint, outcome: Outcome, tookMs: number): void {
    if (endpoint.prepared.compression?.isRefusalNews() === true)
      this.#log.warn(
        { destination: job.envelope.destinationId, url: endpoint.prepared.publicUrl },
        'an endpoint refuses compressed bodies (415): it gets them uncompressed, and a compressed one again in an hour',
      );
    this.#metrics.requestSeconds.add(tookMs / 1_000);
    add(this.#metrics.requests, outcomeLabel(outcome));
    // A 429 only asks for patience, and permanent refusals are in the dead letters.
    // What our own network does is told once, when it begins.
    const isOurs = outcome.kind === 'retryable' && /^(?:cut-off|proxy)$/.test(outcome.cause);
    if (outcome.kind === 'retryable' && conditionShownBy(outcome) !== 'up' && !isOurs)
      this.#endpointFailed(job, endpoint, outcome);
  }

  /** The URL misses an event that another URL of its destination gets. */
  urlSkipped(destination: string, endpoint: Endpoint): void {
    const cause = endpoint.skipCause;
    add(this.#metrics.urlSkips, cause);
    // The failure of the URL was logged when it began.
    if (cause !== 'busy') return;
    const unlogged = endpoint.skipLog.pass(this.#clock.now());
    if (unlogged === undefined) return;
    const fields = { destination, url: endpoint.prepared.publicUrl, cause, missed: unlogged + 1 };
    this.#log.warn(fields, 'a URL misses events that another URL of its destination gets');
  }

  /** @param line with strict order: the event stays in the line of its user, or has left it */
  retryPlanned(job: Job, plan: Later, line?: PutOffLine['line']): void {
    add(this.#metrics.retries, line === 'stays' ? inPlace : formatDuration(plan.tierMs));
    this.#write(job, (at, subject) => retryLine(at, subject, plan, line));
    if (line !== 'left') return;
    this.#metrics.leftLine += 1;
    const unlogged = this.#leftLog.pass(this.#clock.now());
    if (unlogged === undefined) return;
    const { destinationId: destination, messageId, attempts } = job.envelope;
    const fields = { destination, messageId, attempts: attempts + 1, unlogged };
    this.#log.warn(
      fields,
      'an event has failed for as long as orderFor: later ones of its user go on without it',
    );
  }

  /** Without a plan, the event waits in its destination's dedicated topic. */
  deferred(job: Job, cause: DeferralCause, plan?: Later): void {
    add(this.#metrics.deferrals, cause);
    this.#write(job, (at, subject) => deferredLine(at, subject, cause, plan));
  }

  /** Events go to their lane before their time. */
  recalled(events: number): void {
    this.#metrics.recalled += events;
  }

  /** The event waits for its destination to be resumed. */
  kept(job: Job): void {
    this.#metrics.kept += 1;
    this.#write(job, (at, subject) => keptLine(at, subject));
  }

  bundleDeferred({ record, header }: Bundle, { cause, plan }: PutOff): void {
    add(this.#metrics.deferrals, cause, header.events);
    this.#journal?.write(record.key, bundleDeferredLine(this.#clock.now(), header, cause, plan));
  }

  /** A newer release wrote the record at this offset. */
  formatUnknown({ topic, partition }: TopicPartition, offset: number): void {
    add(this.#metrics.deferrals, 'newer-format');
    const unlogged = this.#formatLog.pass(this.#clock.now());
    if (unlogged === undefined) return;
    const text =
      'a newer release wrote a record in a format that this one does not know: it waits in the retry topics for a worker of that release';
    this.#log.warn({ topic, partition, offset, unlogged }, text);
  }

  deadLettered(
    { key }: Pick<IncomingRecord, 'key'>,
    envelope: Envelope | undefined,
    { reason, detail }: Pick<GiveUp, 'reason' | 'detail'>,
  ): void {
    if (envelope !== undefined && this.#journal !== undefined)
      this.#journal.write(
        key,
        deadLetterLine(this.#clock.now(), { key, envelope }, { reason, detail }),
      );
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
      ...answerFields(envelope?.lastAnswer),
      unlogged,
    };
    this.#log.warn(fields, 'event given up: it is in the dead letters');
  }

  fenced(job: Job, fencedBy: FencedBy): void {
    add(this.#metrics.fenced, fencedBy);
    this.#write(job, (at, subject) => droppedLine(at, subject, fencedBy));
    const unlogged = this.#fencedLog.pass(this.#clock.now());
    if (unlogged === undefined) return;
    const { destinationId: destination, sourceId: source, messageId } = job.envelope;
    const fields = { destination, source, messageId, fencedBy, unlogged };
    this.#log.info(fields, 'event dropped: its user was deleted after the call');
  }

  fenceChanged(isFresh: boolean): void {
    if (isFresh) this.#log.info({}, 'the latest deletions are known again; sending continues');
    else this.#log.warn({}, 'the latest deletions are not known; nothing is sent until they are');
  }

  /** @param providers how many were lost within seconds */
  cutOff(providers: number, detail: string): void {
    const text =
      'hardly any endpoint can be reached from here; this worker probes those that it has lost, and counts no attempts';
    this.#log.error({ providers, detail }, text);
  }

  reached(afterMs: number): void {
    this.#log.warn({ afterMs }, 'endpoints can be reached again; sending continues');
  }

  tokenFetched({ publicUrl }: TokenSource, wasMissed: boolean): void {
    add(this.#metrics.tokens, 'fetched');
    if (wasMissed)
      this.#log.info({ tokenUrl: publicUrl }, 'an authorization server gives tokens again');
  }

  tokenMissed({ publicUrl, missedLog, token }: TokenSource, detail: string): void {
    add(this.#metrics.tokens, 'failed');
    const unlogged = missedLog.pass(this.#clock.now());
    if (unlogged === undefined) return;
    const text =
      token === undefined
        ? 'an authorization server gives no token: the events that need one wait'
        : 'an authorization server does not renew a token, which is still valid';
    this.#log.warn({ tokenUrl: publicUrl, detail, unlogged }, text);
  }

  breakerChanged(state: BreakerState): void {
    add(this.#metrics.breakerChanges, state);
  }

  destinationChanged(change: StateChange): void {
    const { destination, state, was, sinceMs, afterMs, waiting, url, last, untilMs } = change;
    if (state === 'ok') {
      const fields = { destination, was, after: roughDuration(afterMs), waited: waiting };
      this.#log.info(fields, stateLines.ok);
      return;
    }
    const said = last === undefined || last.kind === 'delivered' ? undefined : last;
    const fields = {
      destination,
      url,
      since: new Date(sinceMs).toISOString(),
      cause: said === undefined ? undefined : outcomeLabel(said),
      detail: said?.detail,
      answer: said?.answer === undefined ? undefined : bodyText(said.answer, loggedAnswerBytes),
      until: untilMs === undefined ? undefined : new Date(untilMs).toISOString(),
      waiting,
    };
    if (isTrouble(state)) this.#log.warn(fields, stateLines[state]);
    else this.#log.info(fields, stateLines[state]);
  }

  /** Logged once for each version of the destination, however often its lane is removed and created again. */
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
    this.#log.error(
      fields,
      'Kafka refuses a record for dead-letter; the partition stops before it',
    );
  }

  /** These records were already finished here, but their partition moved away before that was committed. */
  redelivered(records: number): void {
    this.#metrics.redelivered.inc(records);
  }

  commitFailed(groupId: string, error: Error): void {
    this.#metrics.commitFailures.inc();
    this.#log.debug({ groupId, reason: error.message }, 'a commit failed; trying again');
  }

  /** @param topics what the group reads */
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

  /** A topic that no destination uses any more could not be looked at, or not be removed. */
  formerTopicKept(topic: string, { message: reason }: Error): void {
    this.#log.warn({ topic, reason }, 'cannot remove a former dedicated topic yet; trying again');
  }

  #write({ record, envelope }: Job, line: (atMs: number, subject: Subject) => string): void {
    if (this.#journal === undefined) return;
    const { key } = record;
    this.#journal.write(key, line(this.#clock.now(), { key, envelope }));
  }

  #endpointFailed(job: Job, endpoint: Endpoint, outcome: Retryable): void {
    const { cause, detail, answer, retryAfterMs } = outcome;
    const unlogged = endpoint.failureLogs.pass(cause, this.#clock.now());
    if (unlogged === undefined) return;
    const fields = {
      destination: job.envelope.destinationId,
      url: endpoint.prepared.publicUrl,
      messageId: job.messageId,
      attempt: job.envelope.attempts + 1,
      cause,
      detail,
      ...(answer?.body === undefined ? {} : { answer: beginningOf(answer.body) }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      unlogged,
    };
    // The specification asks for it: other failures are told when a destination's state changes.
    if (cause === 'timeout') this.#log.error(fields, 'an endpoint did not answer in time');
    else this.#log.debug(fields, 'a request to an endpoint failed');
  }
}

type PassedOn = Pick<Job, 'envelope' | 'hasReturned'> & Partial<Pick<Job, 'line'>>;

function pathOf(
  { envelope, hasReturned, line }: PassedOn,
  spells: Pick<Spells, 'explainsDelivery'>,
  nowMs: number,
): DeliveryPath {
  const { destinationId, appendTimeMs, redrivenMs, isSync } = envelope;
  if (isSync === true) return 'sync';
  if (hasReturned || line?.isHeldUp === true || redrivenMs !== undefined) return 'detour';
  const isLate = nowMs - appendTimeMs > objectiveMs;
  if (isLate && spells.explainsDelivery(destinationId, appendTimeMs, nowMs)) return 'detour';
  return 'straight';
}

/** Without the fields that the answer does not have. */
function answerFields(last: LastAnswer | undefined): object {
  if (last === undefined) return {};
  const { url, body, retryAfterMs } = last;
  return {
    ...(url === undefined ? {} : { url }),
    ...(body === undefined ? {} : { answer: body }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}
