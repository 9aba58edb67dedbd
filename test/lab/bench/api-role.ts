import { startApi } from '../../../src/api/api.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { createMetrics } from '../../../src/ops/metrics.ts';
import { exampleBounds, exampleKeys } from '../../resources/examples.ts';
import type { ApiLoad, ApiUsage } from './api.ts';
import { loadTopology } from './delivery-load.ts';

/** An API in a process of its own: it sends where it listens, and for each message what it has used. */

const { brokers, prefix } = JSON.parse(process.argv[2] ?? '') as ApiLoad;
const kafka = createKafka({ brokers, clientId: 'api' }, silentLogger);
const topology = loadTopology(prefix);
const unused = (): never => {
  throw new Error('nobody asks for that here');
};
const { url } = await startApi({
  kafka,
  topology,
  log: silentLogger,
  clock: systemClock,
  metrics: createMetrics(),
  producer: await createProducer(kafka, { log: silentLogger }),
  access: { host: undefined, tokensFile: undefined, oidc: undefined, rateLimit: 100_000 },
  trustedProxies: [],
  port: 0,
  bounds: exampleBounds,
  secretKeys: exampleKeys,
  customers: { mostDestinations: 20, sources: [] },
  refusedAddress: () => Promise.resolve(undefined),
  services: { kafka, topology, clock: systemClock, log: silentLogger, withProducer: unused },
  sendTest: unused,
  fenceMs: 30_000,
  consoleUrl: undefined,
});
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const usage: ApiUsage = { cpuUs: user + system, rssBytes: process.memoryUsage.rss() };
  process.send?.(usage);
});
process.send?.(url);
