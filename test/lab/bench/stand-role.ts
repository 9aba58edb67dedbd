import { once } from 'node:events';
import { Registry } from 'prom-client';
import { openSender } from '../../../src/delivery/http/http-sender.ts';
import { startDelivery } from '../../../src/delivery/worker.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { tuneGarbageCollection } from '../../../src/ops/process.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import type { Fence } from '../../../src/resources/fence/fence.ts';
import { HandMadeConfig } from '../../delivery/hand-made-config.ts';
import { loadTopology, sharedSecret, timeoutMs } from './delivery-load.ts';
import type { Behaviour } from './stand-endpoints.ts';
import type { RoleQuestion, RoleWork, StandRole } from './stand.ts';
import { noPauses } from '../../delivery/hand-made-pauses.ts';

/** The delivery role of a stand: the first message says what to do, every further one asks a question. */
const [load] = (await once(process, 'message')) as [StandRole];
tuneGarbageCollection();
const kafka = createKafka({ brokers: load.brokers, clientId: 'bench-role' }, silentLogger);
const config = new HandMadeConfig();
for (const { id, url } of load.destinations) {
  config.put({
    kind: 'Destination',
    id,
    name: id,
    sources: ['bench'],
    enabled: true,
    sharedSecret,
    webhooks: [{ url, headers: {} }],
    payload: 'standard',
    topic: 'shared',
  });
}
/** As if the users of this source had been deleted. */
const unsentSource: Behaviour = 'unsent';
const fence: Fence = {
  covers: ({ sourceId }) => (sourceId === unsentSource ? 'user' : undefined),
  isFresh: () => true,
  size: 0,
};
const metrics = new Registry();
const producer = await createProducer(kafka, { log: silentLogger });
await startDelivery({
  kafka,
  config,
  fence,
  pauses: noPauses,
  producer,
  metrics,
  sender: openSender({ clock: systemClock, timeoutMs, allowNetworks: ['127.0.0.0/8'] }),
  deliveryTimeoutMs: timeoutMs,
  deletionDelayMs: 30_000,
  topology: loadTopology(load.prefix, load.topology),
  clock: systemClock,
  log: silentLogger,
  retryWindowMs: 4 * 3_600_000,
  maxAgeMs: 3 * 86_400_000,
  attempts: 'all',
  maxInFlight: load.maxInFlight,
  maxInFlightPerDestination: 64,
});
process.on('message', (question: RoleQuestion) => {
  void answer(question).then((reading) => process.send?.(reading));
});
process.on('disconnect', () => {
  process.exit();
});
process.stdout.write('ready\n');

async function answer(question: RoleQuestion): Promise<RoleWork | number> {
  if (question === 'memory') return heldBytes();
  const { user, system } = process.cpuUsage();
  const counter = await metrics.getSingleMetric('postrider_delivered_total')?.get();
  return { delivered: counter?.values[0]?.value ?? 0, cpuUs: user + system };
}

function heldBytes(): number {
  gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
