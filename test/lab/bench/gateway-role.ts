import { Registry } from 'prom-client';
import { startGateway } from '../../../src/gateway/gateway.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { tuneGarbageCollection } from '../../../src/ops/process.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { exampleSource } from '../../resources/examples.ts';
import { FakeConfig } from '../../router/fakes.ts';
import { loadTopology, writeKey, type GatewayLoad } from './gateway-load.ts';
import { reportMeasurement } from './measure.ts';

/** The gateway, measured: argument 1 is the load as JSON; sends its port, prints a measurement as JSON. */
const load = JSON.parse(process.argv[2] ?? '') as GatewayLoad;
tuneGarbageCollection();
const kafka = createKafka({ brokers: load.brokers, clientId: 'bench-role' }, silentLogger);
const metrics = new Registry();
const gateway = await startGateway({
  topology: loadTopology(load.prefix),
  config: new FakeConfig(exampleSource({ writeKeys: [writeKey] })),
  openProducer: (deliveryTimeoutMs) =>
    createProducer(kafka, { log: silentLogger, deliveryTimeoutMs }),
  clock: systemClock,
  log: silentLogger,
  metrics,
  port: 0,
  rateLimit: 0,
  tls: undefined,
  corsOrigins: [],
  trustedProxies: [],
});
process.send?.(Number(new URL(gateway.url).port));
await reportMeasurement(load, async () => {
  const counter = await metrics.getSingleMetric('postrider_gateway_calls_total')?.get();
  return counter?.values[0]?.value ?? 0;
});
