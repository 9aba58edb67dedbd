import { Histogram } from 'prom-client';
import {
  add,
  exposeCount,
  exposeGauge,
  exposeTally,
  type MetricsRegistry,
} from '../ops/metrics.ts';
import { apiOutcomes, type ApiOutcome } from './manage/api-client.ts';

const indexedKinds = ['attempt', 'dead-letter', 'rejected-call'] as const;
export type IndexedKind = (typeof indexedKinds)[number];

const requestOutcomes = ['answered', 'refused', 'failed'] as const;

/** From what is remembered to a story that is read from Kafka. */
const requestBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The state of the index; all zero while its file is made again. */
export interface IndexFigures {
  readonly isCaughtUp: boolean;
  /** Size of the file. */
  readonly bytes: number;
}

/** The console's metrics. */
export class ConsoleMetrics {
  readonly #indexed = new Map<IndexedKind, number>();
  readonly #requests = new Map<(typeof requestOutcomes)[number], number>();
  readonly #requestSeconds: Histogram;
  readonly #asked = new Map<ApiOutcome, number>();
  #remade = 0;
  #figures: () => IndexFigures = () => ({ isCaughtUp: false, bytes: 0 });
  #customers: () => number = () => 0;

  constructor(registry: MetricsRegistry) {
    exposeTally(
      registry,
      'postrider_console_indexed_total',
      'Attempts, dead letters and rejected calls that this process has written to the index.',
      'kind',
      indexedKinds,
      () => this.#indexed,
    );
    exposeCount(
      registry,
      'postrider_console_index_remade_total',
      'How often the index was made again from Kafka because its file could not be used.',
      () => this.#remade,
    );
    exposeGauge(
      registry,
      'postrider_console_index_caught_up',
      '1 while nothing has waited for ten seconds to be in the index.',
      () => (this.#figures().isCaughtUp ? 1 : 0),
    );
    exposeGauge(
      registry,
      'postrider_console_index_bytes',
      'Size of the index on disk.',
      () => this.#figures().bytes,
    );
    exposeGauge(registry, 'postrider_console_customers', 'Customers that have destinations.', () =>
      this.#customers(),
    );
    exposeTally(
      registry,
      'postrider_console_requests_total',
      'API requests: answered, refused (4xx) or failed (5xx).',
      'outcome',
      requestOutcomes,
      () => this.#requests,
    );
    exposeTally(
      registry,
      'postrider_console_api_requests_total',
      'Requests passed on to the API: answered, unreachable (nothing was sent), or unanswered (it may have done it or not).',
      'outcome',
      apiOutcomes,
      () => this.#asked,
    );
    this.#requestSeconds = new Histogram({
      name: 'postrider_console_request_seconds',
      help: 'Time from the headers of an API request to its answer.',
      buckets: requestBucketsSeconds,
      registers: [registry],
    });
  }

  watch(figures: () => IndexFigures): void {
    this.#figures = figures;
  }

  watchCustomers(customers: () => number): void {
    this.#customers = customers;
  }

  indexed(kind: IndexedKind, count: number): void {
    add(this.#indexed, kind, count);
  }

  remade(): void {
    this.#remade += 1;
  }

  /** A request was passed on to the API. */
  asked(outcome: ApiOutcome): void {
    add(this.#asked, outcome);
  }

  answered(status: number, seconds: number): void {
    add(this.#requests, status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'answered');
    this.#requestSeconds.observe(seconds);
  }
}
