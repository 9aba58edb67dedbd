import { startConsole } from '../../../src/console/console.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { createMetrics } from '../../../src/ops/metrics.ts';
import { loadTopology } from './delivery-load.ts';
import type { ConsoleLoad, ConsoleUsage } from './console.ts';

/** A console in a process of its own: it sends where it listens, and for each message what it has used. */

const { brokers, prefix, dataDir } = JSON.parse(process.argv[2] ?? '') as ConsoleLoad;
const kafka = createKafka({ brokers, clientId: 'console' }, silentLogger);
const topology = loadTopology(prefix);
const unused = (): never => {
  throw new Error('nobody acts here');
};
const { url } = await startConsole({
  kafka,
  topology,
  log: silentLogger,
  clock: systemClock,
  metrics: createMetrics(),
  port: 0,
  access: {
    host: '127.0.0.1',
    url: undefined,
    sessionKey: undefined,
    tokensFile: undefined,
    oidc: undefined,
    frameAncestors: [],
  },
  brand: { name: 'Postrider', accentColor: undefined, logoFile: undefined, backUrl: undefined },
  apiUrl: undefined,
  eventsFile: undefined,
  trustedProxies: [],
  dataDir,
  explain: () => Promise.resolve(undefined),
  services: {
    kafka,
    topology,
    clock: systemClock,
    log: silentLogger,
    withConfig: unused,
    withProducer: unused,
  },
  sendTest: unused,
  producer: { send: unused },
});
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const { maxRSS } = process.resourceUsage();
  const usage: ConsoleUsage = {
    cpuUs: user + system,
    rssBytes: process.memoryUsage.rss(),
    mostRssBytes: maxRSS * 1_024,
  };
  process.send?.(usage);
});
process.send?.(url);
