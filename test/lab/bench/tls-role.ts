import { AddressGuard } from '../../../src/delivery/http/address-guard.ts';
import { HttpSender } from '../../../src/delivery/http/http-sender.ts';
import type { NameResolver } from '../../../src/delivery/http/name-resolver.ts';
import { PreparedDestination } from '../../../src/delivery/prepared-destination.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { bodyText, lookUp, measureSending, urlOf } from './tls-load.ts';
import type { TlsLoad } from './tls-load.ts';

/** The delivery role's sender, without Kafka; measured. */

const load = JSON.parse(process.argv[2] ?? '') as TlsLoad;
const resolver: NameResolver = {
  resolve: (_name, callback) => {
    lookUp(callback);
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

measureSending(load, (event, delivered) => {
  const used = endpoints[event % endpoints.length];
  if (used === undefined) throw new Error('no endpoint');
  const { prepared, endpoint } = used;
  const path = typeof endpoint.target === 'string' ? endpoint.target : '/';
  const body = Buffer.from(bodyText);
  const sending = {
    body,
    headers: prepared.headersOf(`m${event}`, body, Date.now()),
    messageId: `m${event}`,
    batchSize: 0,
    mayFollow: () => true,
    authorization: () => undefined,
    settled: ({ kind }: { readonly kind: string }) => {
      if (kind !== 'delivered') throw new Error(`event ${event}: ${kind}`);
      delivered();
    },
  };
  sender.send(sending, endpoint, 0, path);
});
