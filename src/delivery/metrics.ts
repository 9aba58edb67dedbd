import { Counter, Gauge, Histogram } from 'prom-client';
import { formatDuration } from '../duration.ts';
import { ageBucketsSeconds, exposeGauge, exposeLag } from '../ops/metrics.ts';
import type { MetricsRegistry } from '../ops/metrics.ts';
import type { BreakerState } from './lane/breaker.ts';

/** Numbers by label value, added up without prom-client's price for labels and copied when scraped. */
export type Tally = Map<string, number>;

export function add(tally: Tally, value: string): void {
  tally.set(value, (tally.get(value) ?? 0) + 1);
}

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
  /** Per retry tier: what waits for its time, and how long the most overdue has waited beyond it. */
  readonly tiers: readonly { tierMs: number; records: number; overdueMs: number }[];
}

const requestBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 4, 5];

export class DeliveryMetrics {
  /** Deliveries; a plain number for the hot path. */
  delivered = 0;
  readonly requests: Tally = new Map();
  readonly retries: Tally = new Map();
  readonly deferrals: Tally = new Map();
  readonly deadLetters: Tally = new Map();
  readonly breakerChanges: Tally = new Map();
  readonly stuckRecords: Counter;
  readonly redelivered: Counter;
  readonly rebalances: Counter;
  readonly batchesDropped: Counter;
  readonly commitFailures: Counter;
  readonly ageSeconds: Histogram;
  readonly requestSeconds: Histogram;

  constructor(registry: MetricsRegistry) {
    const registers = [registry];
    const read = (): number => this.delivered;
    new Counter({
      name: 'postrider_delivered_total',
      help: 'Events delivered to a destination.',
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
    const counter = (name: string, help: string, label: string, tally: Tally): void => {
      new Counter({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          this.reset();
          for (const [value, count] of tally) this.inc({ [label]: value }, count);
        },
      });
    };
    counter('postrider_requests_total', 'Requests by outcome.', 'outcome', this.requests);
    counter('postrider_retries_total', 'Failed attempts to be repeated.', 'tier', this.retries);
    counter('postrider_deferrals_total', 'Put off unattempted.', 'cause', this.deferrals);
    counter('postrider_dead_letters_total', 'Events given up.', 'reason', this.deadLetters);
    counter(
      'postrider_breaker_changes_total',
      'Breakers by new state.',
      'state',
      this.breakerChanges,
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
    this.rebalances = plain(
      'postrider_delivery_rebalances_total',
      'Joins of the consumer groups, those of dedicated topics too.',
    );
    this.batchesDropped = plain(
      'postrider_delivery_batches_dropped_total',
      'Fetched from a position that was not ours, and read again.',
    );
    this.commitFailures = plain(
      'postrider_delivery_commit_failures_total',
      'Commits that failed and are repeated.',
    );
    this.ageSeconds = new Histogram({
      name: 'postrider_delivery_age_seconds',
      help: "From the call's append to its delivery.",
      buckets: ageBucketsSeconds,
      registers,
    });
    this.requestSeconds = new Histogram({
      name: 'postrider_request_seconds',
      help: 'From the start of a request to its outcome.',
      buckets: requestBucketsSeconds,
      registers,
    });
  }
}

/** Gauges that ask the engine, and for the lag by topic, when they are scraped. */
export function exposeState(
  registry: MetricsRegistry,
  state: () => EngineState,
  lag: () => ReadonlyMap<string, number>,
): void {
  const registers = [registry];
  exposeLag(
    registry,
    'postrider_delivery_lag_records',
    'Records not delivered yet, those in flight included; of a retry topic, those not due too.',
    lag,
  );
  const gauge = (name: string, help: string, read: (state: EngineState) => number): void => {
    exposeGauge(registry, name, help, () => read(state()));
  };
  gauge('postrider_in_flight', 'Deliveries in flight.', ({ inFlight }) => inFlight);
  gauge('postrider_queued_records', 'Records waiting in lanes.', ({ queued }) => queued);
  gauge('postrider_queued_records_max', 'In the fullest lane.', ({ mostQueued }) => mostQueued);
  new Gauge({
    name: 'postrider_lanes',
    help: 'Destinations with a lane, by what keeps it from taking more.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [name, count] of Object.entries(state().lanesByState))
        this.set({ state: name }, count);
    },
  });
  new Gauge({
    name: 'postrider_breakers',
    help: 'Breakers by state; endpoints without a recent failure have none.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [name, count] of Object.entries(state().breakers))
        this.set({ state: name }, count);
    },
  });
  const tierGauge = (
    name: string,
    help: string,
    read: (tier: EngineState['tiers'][number]) => number,
  ): void => {
    new Gauge({
      name,
      help,
      labelNames: ['tier'],
      registers,
      collect() {
        this.reset();
        for (const tier of state().tiers)
          this.set({ tier: formatDuration(tier.tierMs) }, read(tier));
      },
    });
  };
  tierGauge('postrider_retry_waiting_records', 'Read and not due yet.', ({ records }) => records);
  tierGauge(
    'postrider_retry_overdue_seconds',
    'How long the most overdue record has waited beyond its time.',
    ({ overdueMs }) => overdueMs / 1_000,
  );
}
