import { Counter } from 'prom-client';
import { formatDuration } from '../duration.ts';
import { isTrouble } from '../event/destination-status.ts';
import { dueTimeJitter } from '../event/tier-delay.ts';
import { Distribution, exposeDistribution, exposeDistributions } from '../ops/distribution.ts';
import {
  ageBucketsSeconds,
  exposeCount,
  exposeGauge,
  exposeGauges,
  exposeTally,
  inSeconds,
} from '../ops/metrics.ts';
import type { MetricsRegistry, Tally } from '../ops/metrics.ts';
import { fencingIds, type Fence } from '../resources/fence/fence.ts';
import type { AttemptJournal } from './journal/journal.ts';
import { outcomeLabels, reasonLabels, skipCauses } from './labels.ts';
import type { BreakerState } from './lane/breaker.ts';
import { deferralCauses } from './retry-policy.ts';
import type { Standing } from './status/standing.ts';

/** A lane has the first of these states that holds. */
export type LaneState = 'held' | 'open' | 'slow' | 'limited' | 'waiting' | 'free';

/** All lanes of a worker together. */
export interface LaneCounts {
  readonly queued: number;
  /** Waiting jobs in the fullest lane. */
  readonly mostQueued: number;
  readonly lanesByState: Readonly<Record<LaneState, number>>;
  readonly breakers: Readonly<Record<BreakerState, number>>;
}

/** The present work of the engine. */
export interface EngineState extends LaneCounts {
  readonly inFlight: number;
  /** Records that were read and are not due yet, for each retry tier. */
  readonly tiers: readonly { tierMs: number; records: number }[];
  /** Hardly any endpoint can be reached from here. */
  readonly isCutOff: boolean;
}

/** The worker's backlog, by topic. */
export interface Backlog {
  /** Records not finished yet. */
  readonly lag: ReadonlyMap<string, number>;
  /** Age of the oldest record in flight, since its append. */
  readonly oldestAgeMs: ReadonlyMap<string, number>;
  /** The delay of a retry topic; undefined for other topics. */
  readonly tierMs: (topic: string) => number | undefined;
}

/** The ways of an event to its delivery; `postrider_delivery_age_seconds` says what each means. */
export const deliveryPaths = ['straight', 'detour', 'sync'] as const;
export type DeliveryPath = (typeof deliveryPaths)[number];

const breakerStates: readonly BreakerState[] = ['closed', 'open', 'half-open'];
const requestBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 4, 5];

/** In the place of a tier: the event waits for its next attempt in its destination's own topic. */
export const inPlace = 'in-place';

export class DeliveryMetrics {
  /** Deliveries; a plain number for the hot path. */
  delivered = 0;
  /** Events of paused destinations. */
  kept = 0;
  /** Events whose lanes took them before their time. */
  recalled = 0;
  /** Events that have left the line of their user, at destinations with strict order. */
  leftLine = 0;
  /** Requests with a batch of events, those of them that were refused for the sake of some, and the events in all. */
  batches = 0;
  halvedBatches = 0;
  batchedEvents = 0;
  readonly requests: Tally = new Map();
  readonly urlSkips: Tally = new Map();
  readonly retries: Tally = new Map();
  readonly deferrals: Tally = new Map();
  readonly deadLetters: Tally = new Map();
  readonly fenced: Tally = new Map();
  readonly breakerChanges: Tally = new Map();
  readonly tokens: Tally = new Map();
  readonly rebalances: Tally = new Map();
  readonly stuckRecords: Counter;
  readonly redelivered: Counter;
  readonly commitFailures: Counter;
  readonly ageSeconds: Readonly<Record<DeliveryPath, Distribution>> = {
    straight: new Distribution(ageBucketsSeconds),
    detour: new Distribution(ageBucketsSeconds),
    sync: new Distribution(ageBucketsSeconds),
  };
  readonly requestSeconds: Distribution = new Distribution(requestBucketsSeconds);

  constructor(registry: MetricsRegistry, retryTiersMs: readonly number[] = []) {
    const registers = [registry];
    exposeCount(
      registry,
      'postrider_delivered_total',
      'Events that an endpoint of their destination took.',
      () => this.delivered,
    );
    exposeCount(
      registry,
      'postrider_kept_events_total',
      'Events written to the topic paused because their destination is paused.',
      () => this.kept,
    );
    exposeCount(
      registry,
      'postrider_recalled_events_total',
      'Events that left a retry topic before their time, because an operator ran `retry` or `resume` for their destination.',
      () => this.recalled,
    );
    exposeCount(
      registry,
      'postrider_left_line_total',
      'Events of destinations with `order: user` that failed for as long as `orderFor`, so that later events of their user went on without them.',
      () => this.leftLine,
    );
    exposeCount(
      registry,
      'postrider_batches_total',
      'Requests with a batch of events.',
      () => this.batches,
    );
    exposeCount(
      registry,
      'postrider_batched_events_total',
      'Events in requests with a batch of events.',
      () => this.batchedEvents,
    );
    exposeCount(
      registry,
      'postrider_halved_batches_total',
      'Batches that were refused for the sake of one event, and are sent again in halves.',
      () => this.halvedBatches,
    );
    const tallied = (
      name: string,
      help: string,
      label: string,
      values: readonly string[],
      tally: Tally,
    ): void => {
      exposeTally(registry, name, help, label, values, () => tally);
    };
    tallied(
      'postrider_requests_total',
      'Requests to endpoints by outcome: delivered, or why not. local: this process had no descriptor, memory or port left.',
      'outcome',
      outcomeLabels,
      this.requests,
    );
    tallied(
      'postrider_url_skips_total',
      'Requests that one URL of a destination did not get while another got the event, because it was busy or its breaker was open.',
      'cause',
      skipCauses,
      this.urlSkips,
    );
    tallied(
      'postrider_retries_total',
      'Failed attempts that are repeated, by the delay of their retry topic; in-place: with `order: user`, in the own topic of their destination.',
      'tier',
      [...retryTiersMs.map(formatDuration), inPlace],
      this.retries,
    );
    tallied(
      'postrider_deferrals_total',
      'Events put off without an attempt, by cause.',
      'cause',
      deferralCauses,
      this.deferrals,
    );
    tallied(
      'postrider_dead_letters_total',
      'Events that became dead letters, by reason.',
      'reason',
      reasonLabels,
      this.deadLetters,
    );
    tallied(
      'postrider_fenced_events_total',
      "Events dropped because their user was deleted after the call. cause: the event's own user, or the previous id of an alias.",
      'cause',
      fencingIds,
      this.fenced,
    );
    tallied(
      'postrider_token_requests_total',
      'Requests for an OAuth 2 token to authorization servers, by outcome.',
      'outcome',
      ['fetched', 'failed'],
      this.tokens,
    );
    tallied(
      'postrider_breaker_changes_total',
      'Changes of circuit breakers, by their new state.',
      'state',
      breakerStates,
      this.breakerChanges,
    );
    tallied(
      'postrider_delivery_rebalances_total',
      'Times that this process joined a consumer group, by the kind of its topics.',
      'topics',
      ['shared', 'dedicated'],
      this.rebalances,
    );
    const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
    this.stuckRecords = counter(
      'postrider_stuck_records_total',
      'Records that no retry topic and no dead-letter topic accepts. Their partition stops there, so that they are not lost.',
    );
    this.redelivered = counter(
      'postrider_redelivered_total',
      'Records read again that this process had already finished. Records that another process, or ' +
        'this one before its last start, had finished are not counted.',
    );
    this.commitFailures = counter(
      'postrider_delivery_commit_failures_total',
      'Commits of offsets that failed and are repeated.',
    );
    exposeDistributions(
      registry,
      {
        name: 'postrider_delivery_age_seconds',
        help:
          "From the call's append to its delivery. detour: it had failed, was put off, was sent again, or was " +
          'late because of its destination. sync: an audience sync wrote it. straight: all others.',
        label: 'path',
      },
      this.ageSeconds,
    );
    exposeDistribution(
      registry,
      {
        name: 'postrider_request_seconds',
        help: 'Time from the start of a request to an endpoint until its outcome.',
      },
      this.requestSeconds,
    );
  }
}

/** Exposes what this worker knows of deletions. */
export function exposeFence(registry: MetricsRegistry, fence: Fence): void {
  exposeGauge(
    registry,
    'postrider_fence_records',
    'Deletions that this worker knows: one for each source and deleted user.',
    () => fence.size,
  );
  exposeGauge(
    registry,
    'postrider_fence_fresh',
    '1 while this worker knows every deletion that is older than DELETION_DELAY. While it is 0, the worker sends nothing.',
    () => (fence.isFresh() ? 1 : 0),
  );
}

/** Gauges that read the engine's state and the backlog when they are scraped. */
export function exposeState(
  registry: MetricsRegistry,
  state: () => EngineState,
  backlog: () => Backlog,
): void {
  const gauge = (name: string, help: string, read: (state: EngineState) => number): void => {
    exposeGauge(registry, name, help, () => read(state()));
  };
  const gauges = (
    name: string,
    help: string,
    label: string,
    read: () => Iterable<readonly [string, number]>,
  ): void => {
    exposeGauges(registry, name, help, label, read);
  };
  gauges(
    'postrider_delivery_lag_records',
    'Records of a topic that are not finished. Records in flight and retries that are not due count. One record may hold many events.',
    'topic',
    () => backlog().lag,
  );
  gauges(
    'postrider_delivery_oldest_seconds',
    'Age of the oldest record that was read and is not finished, retries that are not due included. 0 if there is none.',
    'topic',
    () => inSeconds(backlog().oldestAgeMs),
  );
  gauge('postrider_in_flight', 'Deliveries that are under way.', ({ inFlight }) => inFlight);
  gauge(
    'postrider_queued_records',
    'Records that wait in the lanes of all destinations.',
    ({ queued }) => queued,
  );
  gauge(
    'postrider_queued_records_max',
    'Records that wait in the fullest lane.',
    ({ mostQueued }) => mostQueued,
  );
  gauge(
    'postrider_cut_off',
    '1 while this worker reaches almost none of many endpoints: its network, DNS or egress fails.',
    ({ isCutOff }) => (isCutOff ? 1 : 0),
  );
  gauges(
    'postrider_lanes',
    'Destinations with a lane, by what keeps the lane from taking more: held (Retry-After), open (breakers), slow, limited (rate limit), waiting, or free.',
    'state',
    () => Object.entries(state().lanesByState),
  );
  gauges(
    'postrider_breakers',
    'Circuit breakers by state. Endpoints without a recent failure have none.',
    'state',
    () => Object.entries(state().breakers),
  );
  gauges(
    'postrider_retry_waiting_records',
    'Retries that were read and are not due, by the delay of their retry topic.',
    'tier',
    () => waitingByTier(state(), backlog()),
  );
  gauges(
    'postrider_retry_overdue_seconds',
    'Least time that the oldest retry has waited beyond its due time, by the delay of its retry topic.',
    'tier',
    () => inSeconds(overdueByTier(backlog())),
  );
}

function waitingByTier({ tiers }: EngineState, { lag, tierMs }: Backlog): Map<string, number> {
  const owned = [...lag.keys()].map(tierMs).filter((ms) => ms !== undefined);
  const waiting = new Map(owned.map((ms) => [formatDuration(ms), 0]));
  for (const tier of tiers) waiting.set(formatDuration(tier.tierMs), tier.records);
  return waiting;
}

/** Due times vary by a tenth in both directions. A record that is older than that is overdue. */
function overdueByTier({ oldestAgeMs, tierMs }: Backlog): Map<string, number> {
  const overdue = new Map<string, number>();
  for (const [topic, ageMs] of oldestAgeMs) {
    const ms = tierMs(topic);
    if (ms !== undefined)
      overdue.set(formatDuration(ms), Math.max(0, ageMs - ms * (1 + dueTimeJitter)));
  }
  return overdue;
}

/** Fresh events that wait for this worker for longer than the objective allows, by topic. */
export function exposeOverdue(
  registry: MetricsRegistry,
  read: () => Iterable<readonly [string, number]>,
): void {
  exposeGauges(
    registry,
    'postrider_delivery_overdue_events',
    'Events received more than a minute ago that are not delivered because workers are behind, estimated for ' +
      'those not read yet. Not those that failed, were put off or wait for their own destination.',
    'topic',
    read,
  );
}

/** So many of the destinations that fail or are held have a series. */
export const mostFailingShown = 100;
/** The alert PostriderDestinationFailing fires for a series that is longer. */
export const failingAlertAfterMs = 900_000;

/** Destinations that events do not get through to. */
export function exposeFailing(
  registry: MetricsRegistry,
  standings: () => Iterable<readonly [string, Standing]>,
  now: () => number,
): void {
  const inTrouble = (): (readonly [string, Standing])[] =>
    [...standings()].filter(([, { state }]) => isTrouble(state));
  exposeGauges(
    registry,
    'postrider_failing_destination_seconds',
    `How long a destination has failed, been held or been unreadable. At most ${mostFailingShown} have a series: first those that have for 15 minutes, the last to begin before the others.`,
    'destination',
    () => {
      const nowMs = now();
      return inTrouble()
        .map(([id, { sinceMs }]) => [id, nowMs - sinceMs] as const)
        .sort(([, a], [, b]) => byNeedOfAlert(a, b))
        .slice(0, mostFailingShown)
        .map(([id, forMs]) => [id, forMs / 1_000]);
    },
  );
  exposeGauge(
    registry,
    'postrider_failing_destinations',
    'Number of destinations that fail, are held or are unreadable.',
    () => inTrouble().length,
  );
}

/**
 * First those that the alert tells of, and the newest of them: endpoints that were abandoned long ago must not keep
 * it from telling of one more. Destinations that fail for a moment only get what is left, the next to be told of
 * first, so that many of them take no series from one that has an alert.
 */
function byNeedOfAlert(oneForMs: number, otherForMs: number): number {
  const isToldOf = (forMs: number): boolean => forMs >= failingAlertAfterMs;
  if (isToldOf(oneForMs) && isToldOf(otherForMs)) return oneForMs - otherForMs;
  return otherForMs - oneForMs;
}

/** The part of their windows that partitions may use: everything that this worker reads shares its memory. */
export function exposeBudget(registry: MetricsRegistry, share: () => number): void {
  exposeGauge(
    registry,
    'postrider_delivery_window_share',
    'The part of its window that each partition may fill: 1, and less while more than half of what this worker may have in flight is in use.',
    share,
  );
}

/** Lines of the topic `attempts`. */
export function exposeJournal(
  registry: MetricsRegistry,
  journal: AttemptJournal | undefined,
): void {
  exposeTally(
    registry,
    'postrider_delivery_attempt_lines_total',
    'Lines for the topic attempts: written, or dropped because Kafka did not take them in time.',
    'outcome',
    ['written', 'dropped'],
    () => [
      ['written', journal?.written ?? 0],
      ['dropped', journal?.dropped ?? 0],
    ],
  );
}
