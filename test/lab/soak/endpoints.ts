import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { makeAuthority, makeCertificate } from '../../delivery/http/certificates.ts';
import { startNetworkLink, type NetworkLink } from '../../harness/network-link.ts';
import { Answers } from './answers.ts';
import { endpointKinds, type EndpointKind } from './endpoint-kinds.ts';

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
  /** What was wrong with the requests since the last call, in sentences. */
  takeProblems(): string[];
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
  const endpoints = new Map(
    endpointKinds.map((kind) => [kind.id, { kind, answers: new Answers(kind), seen: nothing() }]),
  );

  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const endpoint = endpoints.get(request.url?.slice(1) ?? '');
    if (endpoint === undefined) return void response.writeHead(404).end();
    const { kind, answers } = endpoint;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = Buffer.concat(chunks);
    const isCompressed = request.headers['content-encoding'] === 'gzip';
    const body = isCompressed ? gunzipSync(sent) : sent;
    const expected = createHmac('sha1', sharedSecret).update(body).digest('hex');
    const keys = keysOf(request, body);
    const { seen } = endpoint;
    if (request.headers['x-signature'] !== expected) seen.badSignatures += 1;
    if (isCompressed) seen.compressed += 1;
    if (keys.length > 1) seen.batches += 1;
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
    const answer = answers.to(keys);
    if (answer.status === undefined) return;
    if (kind.answerMs !== undefined) await delay(kind.answerMs);
    // On a busy machine the sender may have given up while the request waited here: it was not taken then.
    if (request.socket.destroyed) return;
    for (const key of answer.taken) onDelivered(kind.id, key);
    response.writeHead(answer.status).end(answer.body);
  };
  const respond = (request: IncomingMessage, response: ServerResponse): void => {
    // A sender that goes away in the middle is told nothing.
    receive(request, response).catch(() => response.destroy());
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
      const { scheme = 'http', isNamed } = endpoints.get(id)?.kind ?? {};
      const host = isNamed === true ? endpointName : '127.0.0.1';
      return `${scheme}://${host}:${linkTo(id).port}/${id}`;
    },
    takeProblems: () =>
      [...endpoints.values()].flatMap((endpoint) => {
        const { kind, seen } = endpoint;
        endpoint.seen = nothing();
        return problemsOf(kind, seen);
      }),
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

/** Requests since the last look. */
interface Seen {
  badSignatures: number;
  /** With more than one event. */
  batches: number;
  compressed: number;
}

function nothing(): Seen {
  return { badSignatures: 0, batches: 0, compressed: 0 };
}

function problemsOf(kind: EndpointKind, { badSignatures, batches, compressed }: Seen): string[] {
  const { id, batch, compress } = kind;
  const problems: string[] = [];
  if (badSignatures > 0) problems.push(`${badSignatures} signatures were wrong at ${id}`);
  if (batches > 0 !== (batch !== undefined)) problems.push(`${batches} batches came to ${id}`);
  if (compressed > 0 !== (compress !== undefined))
    problems.push(`${compressed} compressed bodies came to ${id}`);
  return problems;
}

interface Body {
  readonly type: string;
  readonly userId: string;
  /** Only in bodies with the whole call. */
  readonly messageId?: string;
  readonly traits?: Readonly<Record<string, unknown>>;
}

/** The keys of the events in a request. */
function keysOf(request: IncomingMessage, body: Buffer): string[] {
  const json = JSON.parse(body.toString()) as Body | readonly Body[];
  return [json].flat().map(({ type, userId, messageId, traits }) => {
    const isMember = traits?.[audienceTrait];
    if (type === 'identify' && typeof isMember === 'boolean') return audienceKey(userId, isMember);
    return messageId ?? String(request.headers['idempotency-key']);
  });
}
