import { Registry } from 'prom-client';
import { openSender } from '../../../src/delivery/http/http-sender.ts';
import { startDelivery } from '../../../src/delivery/worker.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { tuneGarbageCollection } from '../../../src/ops/process.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { startFence } from '../../../src/resources/fence/fence.ts';
import { HandMadeConfig } from '../../delivery/hand-made-config.ts';
import { loadDestinations, loadTopology, timeoutMs } from './delivery-load.ts';
import type { DeliveryLoad } from './delivery-load.ts';
import { reportMeasurement } from './measure.ts';
import { noPauses } from '../../delivery/hand-made-pauses.ts';

/** The delivery role, measured: argument 1 is the load as JSON; prints a measurement as JSON. */
const load = JSON.parse(process.argv[2] ?? '') as DeliveryLoad;
tuneGarbageCollection();
const kafka = createKafka({ brokers: load.brokers, clientId: 'bench-role' }, silentLogger);
const topology = loadTopology(load.prefix);
const config = new HandMadeConfig();
for (const destination of loadDestinations(load)) config.put(destination);
const metrics = new Registry();
const producer = await createProducer(kafka, { log: silentLogger });
await startDelivery({
  pauses: noPauses,
  fence: await startFence({ kafka, topology, log: silentLogger }, 30_000),
  kafka,
  config,
  producer,
  metrics,
  sender: openSender({ clock: systemClock, timeoutMs, allowNetworks: ['127.0.0.0/8'] }),
  deliveryTimeoutMs: timeoutMs,
  deletionDelayMs: 30_000,
  topology: { ...topology, groups: { ...topology.groups, delivery: load.group } },
  clock: systemClock,
  log: silentLogger,
  retryWindowMs: 4 * 3_600_000,
  maxAgeMs: 3 * 86_400_000,
  attempts: 'off',
  maxInFlight: load.inFlight,
  maxInFlightPerDestination: 64,
});
await reportMeasurement({ warmUp: load.warmUp, total: load.events }, async () => {
  const counter = await metrics.getSingleMetric('postrider_delivered_total')?.get();
  return counter?.values[0]?.value ?? 0;
});
