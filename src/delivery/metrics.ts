import { Counter, Histogram } from 'prom-client';
import { formatDuration } from '../duration.ts';
import { isTrouble } from '../event/destination-state.ts';
import { dueTimeJitter } from '../event/tier-delay.ts';
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

/** The first of these that holds for a lane. */
export type LaneState = 'held' | 'open' | 'slow' | 'limited' | 'waiting' | 'free';

/** What the engine is doing now. */
export interface EngineState {
  readonly inFlight: number;
  readonly queued: number;
  /** In the fullest lane. */
  readonly mostQueued: number;
  readonly lanesByState: Readonly<Record<LaneState, number>>;
  readonly breakers: Readonly<Record<BreakerState, number>>;
  /** Per retry tier: what is read and waits for its time. */
  readonly tiers: readonly { tierMs: number; records: number }[];
  /** Nearly nobody can be reached from here. */
  readonly isCutOff: boolean;
}

/** How far the worker is behind, by topic. */
export interface Backlog {
  /** Records not finished yet. */
  readonly lag: ReadonlyMap<string, number>;
  /** Since the oldest record in flight was appended. */
  readonly oldestAgeMs: ReadonlyMap<string, number>;
  /** Of the topic's retry tier; undefined for topics that are none. */
  readonly tierMs: (topic: string) => number | undefined;
}

const requestBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 4, 5];

export class DeliveryMetrics {
  /** Deliveries; a plain number for the hot path. */
  delivered = 0;
  /** Of paused destinations. */
  kept = 0;
  readonly requests: Tally = new Map();
  readonly urlSkips: Tally = new Map();
  readonly retries: Tally = new Map();
  readonly deferrals: Tally = new Map();
  readonly deadLetters: Tally = new Map();
  readonly fenced: Tally = new Map();
  readonly breakerChanges: Tally = new Map();
  readonly rebalances: Tally = new Map();
  readonly stuckRecords: Counter;
  readonly redelivered: Counter;
  readonly commitFailures: Counter;
  /** A detour: it had failed, was put off, or was given up and sent again. */
  readonly ageSeconds: Readonly<Record<'straight' | 'detour', Histogram.Internal<'path'>>>;
  readonly requestSeconds: Histogram;

  constructor(registry: MetricsRegistry, retryTiersMs: readonly number[] = []) {
    const registers = [registry];
    exposeCount(registry, 'postrider_delivered_total', 'Events delivered to a destination.', () => {
      return this.delivered;
    });
    exposeCount(
      registry,
      'postrider_kept_events_total',
      'Events written to the topic paused, because their destination is paused.',
      () => this.kept,
    );
    const counter = (
      name: string,
      help: string,
      label: string,
      values: readonly string[],
      tally: Tally,
    ): void => {
      exposeTally(registry, name, help, label, values, () => tally);
    };
    const { requests, retries, deferrals, deadLetters, breakerChanges, rebalances } = this;
    const tiers = retryTiersMs.map(formatDuration);
    const states: BreakerState[] = ['closed', 'open', 'half-open'];
    counter('postrider_requests_total', 'By outcome.', 'outcome', outcomeLabels, requests);
    counter(
      'postrider_url_skips_total',
      'Requests that a URL did not get while another URL of its destination got the event, by cause.',
      'cause',
      skipCauses,
      this.urlSkips,
    );
    counter('postrider_retries_total', 'Failed attempts to be repeated.', 'tier', tiers, retries);
    counter(
      'postrider_deferrals_total',
      'Put off unattempted.',
      'cause',
      deferralCauses,
      deferrals,
    );
    counter(
      'postrider_dead_letters_total',
      'Events given up.',
      'reason',
      reasonLabels,
      deadLetters,
    );
    counter(
      'postrider_fenced_events_total',
      'Dropped because the user was deleted after the call, by which id.',
      'cause',
      fencingIds,
      this.fenced,
    );
    counter(
      'postrider_breaker_changes_total',
      'Breakers by new state.',
      'state',
      states,
      breakerChanges,
    );
    counter(
      'postrider_delivery_rebalances_total',
      'Joins of the consumer groups, by the topics that they read.',
      'topics',
      ['shared', 'dedicated'],
      rebalances,
    );
    this.stuckRecords = new Counter({
      name: 'postrider_stuck_records_total',
      help: 'Records that neither a retry topic nor dead letters accept; their partition stops there.',
      registers,
    });
    this.redelivered = new Counter({
      name: 'postrider_redelivered_total',
      help:
        'Records read again that this process had already finished: delivered, or copied to a retry ' +
        'topic or the dead letters. Not what another process, or this one before it started, had finished.',
      registers,
    });
    const plain = (name: string, help: string): Counter => new Counter({ name, help, registers });
    this.commitFailures = plain(
      'postrider_delivery_commit_failures_total',
      'Commits that failed and are repeated.',
    );
    const age = new Histogram({
      name: 'postrider_delivery_age_seconds',
      help: "From the call's append to its delivery; detour: it had failed, was put off or redriven.",
      labelNames: ['path'],
      buckets: ageBucketsSeconds,
      registers,
    });
    for (const path of ['straight', 'detour']) age.zero({ path });
    this.ageSeconds = { straight: age.labels('straight'), detour: age.labels('detour') };
    this.requestSeconds = new Histogram({
      name: 'postrider_request_seconds',
      help: 'From the start of a request to its outcome.',
      buckets: requestBucketsSeconds,
      registers,
    });
  }
}

/** What is known of deletions. */
export function exposeFence(registry: MetricsRegistry, fence: Fence): void {
  exposeGauge(
    registry,
    'postrider_fence_records',
    'Deletions known: one a source and deleted user.',
    () => fence.size,
  );
  exposeGauge(
    registry,
    'postrider_fence_fresh',
    '1 while every deletion of 2 s ago or longer is known; 0: nothing is sent.',
    () => (fence.isFresh() ? 1 : 0),
  );
}

/** Gauges that ask the engine, and how far behind it is, when they are scraped. */
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
    'Records not delivered yet, those in flight included; of a retry topic, those not due too.',
    'topic',
    () => backlog().lag,
  );
  gauges(
    'postrider_delivery_oldest_seconds',
    'Since the oldest record in flight was appended, in a retry topic one not due too; 0 where none is.',
    'topic',
    () => inSeconds(backlog().oldestAgeMs),
  );
  gauge('postrider_in_flight', 'Deliveries in flight.', ({ inFlight }) => inFlight);
  gauge('postrider_queued_records', 'Records waiting in lanes.', ({ queued }) => queued);
  gauge('postrider_queued_records_max', 'In the fullest lane.', ({ mostQueued }) => mostQueued);
  gauge(
    'postrider_cut_off',
    '1 while nearly none of many endpoints can be reached: the network, the DNS or the way out fails here.',
    ({ isCutOff }) => (isCutOff ? 1 : 0),
  );
  gauges(
    'postrider_lanes',
    'Destinations with a lane, by what keeps it from taking more.',
    'state',
    () => Object.entries(state().lanesByState),
  );
  gauges(
    'postrider_breakers',
    'Breakers by state; endpoints without a recent failure have none.',
    'state',
    () => Object.entries(state().breakers),
  );
  gauges('postrider_retry_waiting_records', 'Read and not due yet.', 'tier', () =>
    waitingByTier(state(), backlog()),
  );
  gauges(
    'postrider_retry_overdue_seconds',
    'How long the oldest record has at least waited beyond its time.',
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

/** Due times differ by a tenth in both directions: what is older than that is overdue. */
function overdueByTier({ oldestAgeMs, tierMs }: Backlog): Map<string, number> {
  const overdue = new Map<string, number>();
  for (const [topic, ageMs] of oldestAgeMs) {
    const ms = tierMs(topic);
    if (ms !== undefined)
      overdue.set(formatDuration(ms), Math.max(0, ageMs - ms * (1 + dueTimeJitter)));
  }
  return overdue;
}

/** Of the destinations that fail or are held, so many have a series: those that have done so for longest. */
const mostFailingShown = 100;

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
    `Since when a destination has failed, been held or been unreadable; the ${mostFailingShown} longest, and none that is well.`,
    'destination',
    () =>
      inTrouble()
        .sort(([, a], [, b]) => a.sinceMs - b.sinceMs)
        .slice(0, mostFailingShown)
        .map(([id, { sinceMs }]) => [id, (now() - sinceMs) / 1_000]),
  );
  exposeGauge(
    registry,
    'postrider_failing_destinations',
    'All destinations that fail, are held or are unreadable.',
    () => inTrouble().length,
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
