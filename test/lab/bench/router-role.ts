import { Registry } from 'prom-client';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { tuneGarbageCollection } from '../../../src/ops/process.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { startRouter } from '../../../src/router/router.ts';
import { exampleDestination, exampleSource } from '../../resources/examples.ts';
import { FakeConfig } from '../../router/fakes.ts';
import { reportMeasurement } from './measure.ts';
import { copiesPerCall, loadTopology, type RouterLoad } from './router-load.ts';

/** The router, measured: argument 1 is the load as JSON; prints a measurement as JSON. */
const load = JSON.parse(process.argv[2] ?? '') as RouterLoad;
tuneGarbageCollection();
const kafka = createKafka({ brokers: load.brokers, clientId: 'bench-role' }, silentLogger);
const metrics = new Registry();
const destinations = Array.from({ length: copiesPerCall }, (_, i) =>
  exampleDestination({ id: `d${i}` }),
);
await startRouter({
  suppressed: new Map(),
  kafka,
  topology: loadTopology(load),
  config: new FakeConfig(exampleSource(), ...destinations),
  producer: await createProducer(kafka, { log: silentLogger }),
  clock: systemClock,
  log: silentLogger,
  metrics,
  dedupeWindowMs: 600_000,
});
await reportMeasurement(load, async () => {
  const counter = await metrics.getSingleMetric('postrider_router_events_total')?.get();
  return counter?.values[0]?.value ?? 0;
});
