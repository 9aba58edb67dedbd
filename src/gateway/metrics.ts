import { rejectReasons, type RejectReason } from '../event/rejection.ts';
import { Distribution, exposeDistribution } from '../ops/distribution.ts';
import { exposeCount, exposeGauge, exposeTally, type MetricsRegistry } from '../ops/metrics.ts';
import { oddFieldReasons, type Oddity } from './odd-fields.ts';
import { refusalCodes, type RefusalCode } from './refusal.ts';

/** The present work of the gateway. */
export interface GatewayState {
  readonly inFlightBytes: number;
  readonly kafkaAvailable: boolean;
}

/** From a request that waits for nothing to one that is given up. */
const requestBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/**
 * Plain numbers where prom-client's cost for labels would be paid for each call. They are copied when
 * scraped.
 */
export class GatewayMetrics {
  readonly requests: Map<'accepted' | RefusalCode, number> = new Map();
  readonly rejected: Map<RejectReason, number> = new Map();
  readonly oddFields: Map<Oddity['reason'], number> = new Map();
  calls = 0;
  givenUp = 0;
  /** Without refusals: many are instant, and would hide a slow Kafka. `requests` counts them by code. */
  readonly requestSeconds: Distribution = new Distribution(requestBucketsSeconds);

  constructor(registry: MetricsRegistry) {
    exposeTally(
      registry,
      'postrider_gateway_requests_total',
      'Requests that were answered. outcome: accepted, or the code of the error.',
      'outcome',
      ['accepted', ...refusalCodes],
      () => this.requests,
    );
    exposeTally(
      registry,
      'postrider_gateway_rejected_total',
      'Calls that the gateway wrote to ingest.rejected, by reason.',
      'reason',
      Object.keys(rejectReasons),
      () => this.rejected,
    );
    exposeTally(
      registry,
      'postrider_gateway_odd_fields_total',
      'Fields of calls that look like mistakes: misspelt names, and texts in place of objects.',
      'reason',
      oddFieldReasons,
      () => this.oddFields,
    );
    exposeCount(
      registry,
      'postrider_gateway_calls_total',
      'Calls that Kafka acknowledged, rejected ones included.',
      () => this.calls,
    );
    exposeCount(
      registry,
      'postrider_gateway_given_up_calls_total',
      'Calls that Kafka did not acknowledge in time. Kafka may have stored them nevertheless.',
      () => this.givenUp,
    );
    exposeDistribution(
      registry,
      {
        name: 'postrider_gateway_request_seconds',
        help: 'Time from the headers of an accepted request to its answer.',
      },
      this.requestSeconds,
    );
  }
}

/** Gauges that read the gateway's state when they are scraped. */
export function exposeState(registry: MetricsRegistry, state: () => GatewayState): void {
  exposeGauge(
    registry,
    'postrider_gateway_in_flight_bytes',
    'Bytes of bodies and calls that are held in memory until Kafka acknowledges them.',
    () => state().inFlightBytes,
  );
  exposeGauge(
    registry,
    'postrider_gateway_kafka_available',
    '1 while the gateway takes calls, 0 while it refuses them because Kafka does not acknowledge.',
    () => (state().kafkaAvailable ? 1 : 0),
  );
}
