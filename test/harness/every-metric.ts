import { SyncMetrics } from '../../src/audience/metrics.ts';
import { ApiMetrics } from '../../src/api/api.ts';
import { ConsoleMetrics } from '../../src/console/metrics.ts';
import { exposeCertificates } from '../../src/cli/roles/follow-credentials.ts';
import { exposeUnwritable, producerHooks } from '../../src/cli/roles/producer-metrics.ts';
import {
  DeliveryMetrics,
  exposeBudget,
  exposeFailing,
  exposeFence,
  exposeJournal,
  exposeOverdue,
  exposeState as exposeDelivery,
} from '../../src/delivery/metrics.ts';
import { exposeState as exposeGateway, GatewayMetrics } from '../../src/gateway/metrics.ts';
import { observeReading } from '../../src/kafka/consume/consume-metrics.ts';
import { Throttling } from '../../src/kafka/client.ts';
import { NoticeEvents } from '../../src/notices/events.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { createMetrics, exposeReady } from '../../src/ops/metrics.ts';
import type { MetricsRegistry } from '../../src/ops/metrics.ts';
import { exposeClientCertificates } from '../../src/resources/client-certificate.ts';
import { exposeConfig } from '../../src/resources/config/config.ts';
import { exposeState as exposeRouter, RouterMetrics } from '../../src/router/metrics.ts';

/** What all roles together register. Not to be scraped: nothing is behind the gauges. */
export function everyMetric(): MetricsRegistry {
  const metrics = createMetrics();
  const state = {
    inFlight: 0,
    held: 0,
    stalled: 0,
    rememberedIds: 0,
    lag: new Map<string, number>(),
    oldestAgeMs: new Map<string, number>(),
    overdue: new Map<string, number>(),
  };
  new ApiMetrics(metrics);
  new GatewayMetrics(metrics);
  exposeGateway(metrics, () => ({ inFlightBytes: 0, kafkaAvailable: true }));
  new RouterMetrics(metrics);
  exposeRouter(metrics, () => state);
  new DeliveryMetrics(metrics);
  const notScraped = (): never => {
    throw new Error('not scraped');
  };
  exposeDelivery(metrics, notScraped, notScraped);
  exposeFailing(metrics, notScraped, notScraped);
  exposeOverdue(metrics, notScraped);
  exposeBudget(metrics, notScraped);
  exposeJournal(metrics, undefined);
  exposeFence(metrics, { covers: notScraped, isFresh: notScraped, size: 0 });
  new NoticeEvents(silentLogger, metrics);
  producerHooks(metrics);
  exposeUnwritable(metrics, { unwritable: notScraped });
  observeReading(metrics, []);
  new SyncMetrics(metrics);
  new ConsoleMetrics(metrics);
  exposeConfig(metrics, { offset: 0, notFollowed: 0, isFresh: () => true });
  new Throttling(silentLogger).expose(metrics);
  exposeReady(metrics, () => []);
  exposeClientCertificates(metrics, { destinations: notScraped });
  exposeCertificates(metrics, { expiriesMs: () => [] });
  return metrics;
}
