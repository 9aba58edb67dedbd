import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { makeAuthority, makeCertificate } from '../../delivery/http/certificates.ts';
import { startNetworkLink, type NetworkLink } from '../../harness/network-link.ts';

/** A customer's endpoint, and what is particular about it. */
interface EndpointKind {
  readonly id: string;
  /** It takes every event at the first attempt, unless a fault is its own. */
  readonly isHealthy: boolean;
  readonly scheme?: 'https';
  /** It is known by a name, not by its address. */
  readonly isNamed?: true;
  readonly topic?: 'dedicated';
  readonly answerMs?: number;
  /** One in so many events is refused for good. */
  readonly refusesEvery?: number;
  /** One in so many events fails at its first attempt. */
  readonly failsEvery?: number;
}

export const endpointKinds: readonly EndpointKind[] = [
  { id: 'quick', isHealthy: true },
  { id: 'secure', isHealthy: true, scheme: 'https', topic: 'dedicated' },
  { id: 'slow', isHealthy: true, answerMs: 300 },
  { id: 'named', isHealthy: true, isNamed: true },
  { id: 'flaky', isHealthy: false, scheme: 'https', failsEvery: 10 },
  { id: 'refusing', isHealthy: false, refusesEvery: 20 },
];
export const endpointIds: readonly string[] = endpointKinds.map(({ id }) => id);
export const healthyIds: readonly string[] = endpointKinds
  .filter(({ isHealthy }) => isHealthy)
  .map(({ id }) => id);

export const sharedSecret = 'teehee';
export const endpointName = 'named.soak.example';
/** The trait that the soak's audience sets. */
export const audienceTrait = 'soaked';

export const waysToBeDown = ['answers 503', 'never answers', 'ends the connection'] as const;
export type WayToBeDown = (typeof waysToBeDown)[number];

export interface Endpoints {
  /** The certificate authority of those that speak HTTPS, as PEM. */
  readonly authority: string;
  readonly urlOf: (id: string) => string;
  readonly linkTo: (id: string) => NetworkLink;
  /** Deliveries whose signature was wrong. */
  readonly badSignatures: number;
  setDown(id: string, way: WayToBeDown | undefined): void;
  close(): Promise<void>;
}

/** Who hears of each delivery that an endpoint took. `key`: the message id, or what `audienceKey` makes. */
export type OnDelivered = (destinationId: string, key: string) => void;

/** Stands for the message id of a call that a sync makes, which only the sync knows. */
export function audienceKey(user: string, isMember: boolean): string {
  return `${user}-${isMember ? 'enters' : 'leaves'}`;
}

/** All endpoints, each behind a network link of its own. */
export async function startEndpoints(onDelivered: OnDelivered): Promise<Endpoints> {
  const down = new Map<string, WayToBeDown>();
  const failed = new Set<string>();
  let badSignatures = 0;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const kind = endpointKinds.find(({ id }) => request.url === `/${id}`);
    if (kind === undefined) return void response.writeHead(404).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const expected = createHmac('sha1', sharedSecret).update(body).digest('hex');
    if (request.headers['x-signature'] !== expected) badSignatures += 1;
    const key = keyOf(request, body);
    switch (down.get(kind.id)) {
      case 'answers 503':
        return void response.writeHead(503).end();
      case 'ends the connection':
        return void request.socket.destroy();
      case 'never answers':
        return;
      case undefined:
        break;
    }
    if (isOneIn(kind.refusesEvery, key)) return void response.writeHead(400).end('no thanks');
    if (isOneIn(kind.failsEvery, key) && !failed.has(key)) {
      failed.add(key);
      return void response.writeHead(503).end();
    }
    if (kind.answerMs !== undefined) await delay(kind.answerMs);
    // On a busy machine the sender may have given up while the request waited here: it was not taken then.
    if (request.socket.destroyed) return;
    onDelivered(kind.id, key);
    response.writeHead(200).end('ok');
  };
  const respond = (request: IncomingMessage, response: ServerResponse): void => {
    // A sender that goes away in the middle is told nothing.
    answer(request, response).catch(() => response.destroy());
  };

  const authority = makeAuthority('soak');
  const servers = {
    http: createServer(respond),
    https: https.createServer(makeCertificate({ by: authority }), respond),
  };
  for (const server of Object.values(servers)) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const links = new Map<string, NetworkLink>();
  for (const { id, scheme = 'http' } of endpointKinds) {
    const link = await startNetworkLink();
    link.leadTo((servers[scheme].address() as AddressInfo).port);
    links.set(id, link);
  }
  const linkTo = (id: string): NetworkLink => {
    const link = links.get(id);
    if (link === undefined) throw new RangeError(`no endpoint ${id}`);
    return link;
  };
  return {
    authority: authority.cert,
    linkTo,
    urlOf: (id) => {
      const { scheme = 'http', isNamed } = endpointKinds.find((kind) => kind.id === id) ?? {};
      const host = isNamed === true ? endpointName : '127.0.0.1';
      return `${scheme}://${host}:${linkTo(id).port}/${id}`;
    },
    get badSignatures() {
      return badSignatures;
    },
    setDown: (id, way) => {
      if (way === undefined) down.delete(id);
      else down.set(id, way);
    },
    close: async () => {
      await Promise.all([...links.values()].map((link) => link.close()));
      for (const server of Object.values(servers)) {
        const closed = once(server, 'close');
        server.close();
        server.closeAllConnections();
        await closed;
      }
    },
  };
}

function keyOf(request: IncomingMessage, body: Buffer): string {
  const { type, userId, traits } = JSON.parse(body.toString()) as {
    readonly type: string;
    readonly userId: string;
    readonly traits?: Readonly<Record<string, unknown>>;
  };
  const isMember = traits?.[audienceTrait];
  if (type === 'identify' && typeof isMember === 'boolean') return audienceKey(userId, isMember);
  return String(request.headers['idempotency-key']);
}

/** By the number at the end of the key, so that a repetition is treated as the first one was. */
function isOneIn(every: number | undefined, key: string): boolean {
  return every !== undefined && Number(/\d+$/.exec(key)?.[0] ?? 1) % every === 0;
}
