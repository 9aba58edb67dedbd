import { AddressGuard } from '../../src/delivery/http/address-guard.ts';
import { HttpSender } from '../../src/delivery/http/http-sender.ts';
import type { NameResolver } from '../../src/delivery/http/name-resolver.ts';
import { PreparedDestination } from '../../src/delivery/prepared-destination.ts';
import { systemClock } from '../../src/ops/clock.ts';
import type { Measurement } from './measure.ts';
import { bodyText, sendAll, urlOf } from './tls-load.ts';
import type { TlsLoad } from './tls-load.ts';

/** The delivery role's sender, without Kafka; measured. */

const load = JSON.parse(process.argv[2] ?? '') as TlsLoad;
const address = [{ address: '127.0.0.1', family: 4 }];
const resolver: NameResolver = {
  resolve: (_name, callback) => {
    process.nextTick(callback, null, address);
  },
  distrust: () => undefined,
};
const sender = new HttpSender({
  timeoutMs: 5_000,
  guard: new AddressGuard(['127.0.0.0/8']),
  resolver,
  clock: systemClock,
});
const endpoints = Array.from({ length: load.origins }, (_, index) => {
  const prepared = new PreparedDestination({
    kind: 'Destination',
    id: `d${index}`,
    name: 'bench',
    sources: ['bench'],
    enabled: true,
    sharedSecret: 'bench',
    webhooks: [{ url: urlOf(load, index), headers: {} }],
    payload: 'standard',
    topic: 'shared',
  });
  const [endpoint] = prepared.endpoints;
  if (endpoint === undefined) throw new Error('no endpoint');
  return { prepared, endpoint };
});
let delivered = 0;
let warm: ReturnType<typeof state> | undefined;

function send(event: number): Promise<void> {
  const used = endpoints[event % endpoints.length];
  if (used === undefined) throw new Error('no endpoint');
  const { prepared, endpoint } = used;
  const body = Buffer.from(bodyText);
  const signature = prepared.sign(body);
  return new Promise((resolve) => {
    const sending = {
      body,
      signature,
      idempotencyHeader: undefined,
      messageId: `m${event}`,
      settled: ({ kind }: { readonly kind: string }) => {
        if (kind !== 'delivered') throw new Error(`event ${event}: ${kind}`);
        count();
        resolve();
      },
    };
    sender.send(sending, endpoint, 0);
  });
}

/** Counts as they come: a process that looked for itself would use more CPU time than a few events take. */
function count(): void {
  delivered += 1;
  if (delivered === load.warmUp) warm = state();
  if (delivered < load.events || warm === undefined) return;
  const { user, system } = process.cpuUsage(warm.cpu);
  const measurement: Measurement = {
    deliveries: load.events - load.warmUp,
    cpuUs: user + system,
    wallMs: performance.now() - warm.atMs,
    rssBytes: process.memoryUsage.rss(),
    rssAtWarmUpBytes: warm.rssBytes,
  };
  process.stdout.write(`${JSON.stringify(measurement)}\n`, () => process.exit());
}

function state(): { cpu: NodeJS.CpuUsage; atMs: number; rssBytes: number } {
  return {
    cpu: process.cpuUsage(),
    atMs: performance.now(),
    rssBytes: process.memoryUsage.rss(),
  };
}

sendAll(load, send);
