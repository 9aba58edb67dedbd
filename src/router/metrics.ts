import { Counter } from 'prom-client';
import { rejectReasons, type RejectReason } from '../event/rejection.ts';
import { Distribution, exposeDistribution } from '../ops/distribution.ts';
import {
  ageBucketsSeconds,
  exposeCount,
  exposeGauge,
  exposeGauges,
  exposeTally,
  inSeconds,
  type MetricsRegistry,
} from '../ops/metrics.ts';

/** The router's present state. */
export interface RouterState {
  readonly inFlight: number;
  readonly held: number;
  /** Records that wait for a schema, or behind such a record. */
  readonly stalled: number;
  /** Message ids that are kept to recognize duplicates. */
  readonly rememberedIds: number;
  /** Not routed yet, by ingest topic. */
  readonly lag: ReadonlyMap<string, number>;
  /** Since the oldest call in flight was appended, by ingest topic. */
  readonly oldestAgeMs: ReadonlyMap<string, number>;
  /** Calls received more than a minute ago; without those of audience syncs. */
  readonly overdue: ReadonlyMap<string, number>;
}

/** Plain numbers where prom-client's price for labels would be paid per call; they are copied when scraped. */
export class RouterMetrics {
  routed = 0;
  unwanted = 0;
  suppressed = 0;
  duplicates = 0;
  pushedOutIds = 0;
  registryFailures = 0;
  detoured = 0;
  events = 0;
  readonly rejected: Map<RejectReason, number> = new Map();
  readonly stuck: Counter;
  readonly rebalances: Counter;
  readonly ageSeconds: Distribution = new Distribution(ageBucketsSeconds);

  constructor(registry: MetricsRegistry) {
    const registers = [registry];
    const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
    const calls = (): readonly (readonly [string, number])[] => [
      ['routed', this.routed],
      ['unwanted', this.unwanted],
      ['suppressed', this.suppressed],
      ['duplicate', this.duplicates],
      ['rejected', [...this.rejected.values()].reduce((sum, count) => sum + count, 0)],
    ];
    exposeTally(
      registry,
      'postrider_router_calls_total',
      'Calls that the router finished. outcome: routed, unwanted (no destination takes them), suppressed (suppress-user), duplicate (sent again by their client) or rejected.',
      'outcome',
      [],
      calls,
    );
    exposeTally(
      registry,
      'postrider_router_rejected_total',
      'Calls that the router wrote to ingest.rejected, by reason.',
      'reason',
      Object.keys(rejectReasons),
      () => this.rejected,
    );
    exposeCount(
      registry,
      'postrider_router_forgotten_ids_total',
      'Message ids that were forgotten before DEDUPE_WINDOW was over because there were too many.',
      () => this.pushedOutIds,
    );
    exposeCount(
      registry,
      'postrider_router_registry_failures_total',
      'Requests to the schema registry that failed and are repeated.',
      () => this.registryFailures,
    );
    exposeCount(
      registry,
      'postrider_router_detoured_events_total',
      "Events written to the shared topic because their destination's dedicated topic cannot be written.",
      () => this.detoured,
    );
    exposeCount(
      registry,
      'postrider_router_events_total',
      'Events written for destinations.',
      () => this.events,
    );
    this.stuck = counter(
      'postrider_router_stuck_records_total',
      'Records that ingest.rejected does not accept either. Their partition stops there, so that they are not lost.',
    );
    this.rebalances = counter(
      'postrider_router_rebalances_total',
      'Times that this process joined the consumer group.',
    );
    exposeDistribution(
      registry,
      {
        name: 'postrider_router_age_seconds',
        help: "Time from a call's append until all events that it became are written.",
      },
      this.ageSeconds,
    );
  }
}

/** Gauges that read the router's state when they are scraped. */
export function exposeState(registry: MetricsRegistry, state: () => RouterState): void {
  exposeGauge(
    registry,
    'postrider_router_in_flight',
    'Calls that were read and are not finished.',
    () => state().inFlight,
  );
  exposeGauge(
    registry,
    'postrider_router_held',
    'Calls that wait until their unknown write key is looked up again.',
    () => state().held,
  );
  exposeGauge(
    registry,
    'postrider_router_stalled',
    'Records that wait for a schema, or behind such a record in their partition.',
    () => state().stalled,
  );
  exposeGauge(
    registry,
    'postrider_router_remembered_ids',
    'Message ids that are remembered to recognize duplicates.',
    () => state().rememberedIds,
  );
  exposeGauges(
    registry,
    'postrider_router_lag_records',
    'Records of an ingest topic that are not routed, those in flight included.',
    'topic',
    () => state().lag,
  );
  exposeGauges(
    registry,
    'postrider_router_oldest_seconds',
    'Age of the oldest call that was read and is not finished. 0 if there is none.',
    'topic',
    () => inSeconds(state().oldestAgeMs),
  );
  exposeGauges(
    registry,
    'postrider_router_overdue_calls',
    'Calls received more than a minute ago that are not routed, estimated for those not read yet. Not those of audience syncs.',
    'topic',
    () => state().overdue,
  );
}
