import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { fastify, type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify';
import { callTypes, type CallType } from '../event/call.ts';
import { isDelivery } from '../event/headers.ts';
import { clientIp } from '../ops/client-ip.ts';
import { limitConnections } from '../ops/connection-limit.ts';
import {
  acceptRequest,
  type AcceptDeps,
  type Accepted,
  type TrackingRequest,
} from './accept-request.ts';
import { BodyPace } from './body-pace.ts';
import { allowOrigins, refusedPreflight } from './cross-origin.ts';
import { overloaded, receiveBody } from './read-body.ts';
import { errorBody, internalError, statusOf, type Refusal, type RefusalCode } from './refusal.ts';

export interface Timeouts {
  /** For a request's line and headers, from its first byte, or from the beginning of the connection. */
  readonly headersMs: number;
  /** For the whole request, body included. */
  readonly requestMs: number;
  /** Between two requests of a connection. */
  readonly idleMs: number;
  /** The time between two checks of the first two limits. */
  readonly checkEveryMs: number;
  /** The time between two checks of the pace of a body. */
  readonly bodyWindowMs: number;
}

/** Longer than load balancers keep their connections, which usually is a minute. */
const timeouts: Timeouts = {
  headersMs: 10_000,
  requestMs: 30_000,
  idleMs: 75_000,
  checkEveryMs: 2_000,
  bodyWindowMs: 5_000,
};

/** Without named proxies, a load balancer is one client: its connections are kept, and are some hundreds. */
const connections = { most: 16_384, mostOfClient: 4_096 };

/** PEM. */
export interface TlsKeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface ServerOptions {
  readonly tls: TlsKeyPair | undefined;
  /** `*`, or origins of pages that may send calls, also `https://*.shop.example`. */
  readonly corsOrigins: readonly string[];
  /** CIDRs. */
  readonly trustedProxies: readonly string[];
  readonly timeouts?: Timeouts;
}

/** Undefined: a batch. The short paths are those of clients in browsers and phones. */
const paths: Readonly<Record<string, CallType | undefined>> = {
  ...Object.fromEntries(callTypes.map((type) => [type, type])),
  batch: undefined,
  import: undefined,
  ...Object.fromEntries(callTypes.map((type) => [type.slice(0, 1), type])),
  b: undefined,
};

const jsonType = 'application/json; charset=utf-8';
const success = '{"success":true}';
/** A batch may have thousands. */
const mostToldRejections = 20;

/** Rejected calls are no error of the request: clients of this protocol would send all of it again, or drop it. */
function answerTo({ rejections }: Accepted): string {
  if (rejections.length === 0) return success;
  const rejected = rejections
    .slice(0, mostToldRejections)
    .map(({ index, reason: code, detail: message }) => ({ index, code, message }));
  return JSON.stringify({ success: true, rejected });
}

/** The HTTP tracking API, not listening yet. */
export function createServer(deps: AcceptDeps, options: ServerOptions): FastifyInstance {
  const { tls, corsOrigins, trustedProxies, timeouts: limits = timeouts } = options;
  const http = {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkEveryMs,
  };
  const server = fastify({
    ...(tls === undefined
      ? { http }
      : { https: { ...http, cert: tls.cert, key: tls.key, handshakeTimeout: limits.headersMs } }),
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    // Also for whoever stops reading answers.
    connectionTimeout: limits.idleMs,
    // Requests that come on open connections while the server closes are finished like all others.
    return503OnClosing: false,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    exposeHeadRoutes: false,
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
    frameworkErrors: (_error, _request, reply) => {
      refuse(deps, reply, invalidRequest);
    },
    clientErrorHandler: (error, socket) => {
      refuseUnparsed(deps, error, socket);
    },
  }) as unknown as FastifyInstance;

  if (corsOrigins.length > 0) allowOrigins(server, corsOrigins);
  limitConnections(server.server, { ...connections, exempt: trustedProxies });
  closeConnections(server);
  // Behind the headers for browsers, so that pages can read refusals too.
  server.after(() => {
    refuseOthers(server, deps);
  });
  takeAnyContentType(server);
  answerErrors(server, deps);
  addCallRoutes(server, deps, new BodyPace(deps.clock, limits.bodyWindowMs));
  addPixelRoutes(server, deps);
  return server;
}

/** A socket as Node keeps it, with the answer that it is busy with. */
type Connection = Socket & { readonly _httpMessage?: ServerResponse | null };

/**
 * Without this, a server that closes would wait for connections on which nothing was asked yet, as browsers and load
 * balancers open them ahead, and those that are busy would stay open.
 */
function closeConnections(server: FastifyInstance): void {
  let isClosing = false;
  const connections = new Set<Connection>();
  const opened = server.server instanceof TlsServer ? 'secureConnection' : 'connection';
  server.server.on(opened, (connection: Connection) => {
    // Its handshake was under way when the server began to close.
    if (isClosing) connection.destroy();
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
  });
  server.addHook('preClose', (done) => {
    isClosing = true;
    for (const connection of connections) {
      const { _httpMessage: answer } = connection;
      if (answer) answer.shouldKeepAlive = false;
      else connection.destroy();
    }
    done();
  });
}

/** Refuses what no route is for, and what must not be taken on any. */
function refuseOthers(server: FastifyInstance, deps: AcceptDeps): void {
  server.addHook('onRequest', (request, reply, done) => {
    const preflight = refusedPreflight(request);
    if (preflight !== undefined) refuse(deps, reply, preflight);
    else if (request.is404 || request.method === 'OPTIONS') refuse(deps, reply, notFound);
    else if (isDelivery(request.raw.headers)) refuse(deps, reply, loop);
    else done();
  });
}

/** A body is identified by its bytes, whatever its content type; fastify would refuse some types. */
function takeAnyContentType(server: FastifyInstance): void {
  server.addHook('onRequest', (request, _reply, done) => {
    // Set, because V8 looks up fields of an object slowly after one was deleted.
    request.raw.headers['content-type'] = undefined;
    done();
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (_request, _body, done) => {
    done(null);
  });
}

function answerErrors(server: FastifyInstance, deps: AcceptDeps): void {
  server.setErrorHandler((error: FastifyError, _request, reply) => {
    // Of a method that fastify has no routes for at all, so that the hook above did not run.
    if (error.code === 'FST_ERR_NOT_FOUND') {
      refuse(deps, reply, notFound);
      return;
    }
    deps.events.failed(error);
    refuse(deps, reply, internalError);
  });
  server.server.on('checkExpectation', (_request, response: ServerResponse) => {
    deps.events.refusedRequest(unknownExpectation);
    const head = { 'content-type': jsonType, connection: 'close' };
    response.writeHead(statusOf(unknownExpectation), head).end(errorBody(unknownExpectation));
  });
}

function addCallRoutes(server: FastifyInstance, deps: AcceptDeps, pace: BodyPace): void {
  for (const [path, type] of Object.entries(paths)) {
    server.post(`/v1/${path}`, async (request, reply) => {
      const { headers } = request.raw;
      const declaredBytes = Number(headers['content-length'] ?? 0);
      const read: TrackingRequest['read'] = (lease) =>
        receiveBody(request.raw, declaredBytes, lease, pace);
      const ip = (): string | undefined => clientIp(request);
      const done = await acceptRequest(deps, { headers, read, type, clientIp: ip });
      if ('code' in done) return refuse(deps, reply, done);
      return reply.type(jsonType).send(answerTo(done));
    });
  }
}

function addPixelRoutes(server: FastifyInstance, deps: AcceptDeps): void {
  for (const type of callTypes) {
    server.get(`/v1/pixel/${type}`, async (request, reply) => {
      const read: TrackingRequest['read'] = (lease) => {
        const body = pixelBody(request.query);
        const hasRoom = !Buffer.isBuffer(body) || lease.grow(body.length);
        return Promise.resolve(hasRoom ? body : overloaded);
      };
      const ip = (): string | undefined => clientIp(request);
      const { authorization } = request.raw.headers;
      const headers = { authorization };
      const done = await acceptRequest(deps, { headers, read, type, clientIp: ip });
      if ('code' in done) return refuse(deps, reply, ofQuery(done));
      return reply.type('image/gif').header('cache-control', 'no-store').send(pixel);
    });
  }
}

/** For the connections that a server with TLS accepts from now on. */
export function useTls({ server }: FastifyInstance, { cert, key }: TlsKeyPair): void {
  if (server instanceof TlsServer) server.setSecureContext({ cert, key });
}

const unreadRest: ReadonlySet<RefusalCode> = new Set(['body-too-large', 'request-timeout']);

function refuse(deps: AcceptDeps, reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { retryAfterS } = refusal;
  deps.events.refusedRequest(refusal);
  if (retryAfterS !== undefined) reply.header('retry-after', retryAfterS);
  // The rest of the body is not read, so no other request can follow. Node drops the rest of other unread
  // bodies.
  if (unreadRest.has(refusal.code)) reply.header('connection', 'close');
  return reply.code(statusOf(refusal)).type(jsonType).send(errorBody(refusal));
}

const invalidRequest: Refusal = { code: 'invalid-request', message: 'This is not valid HTTP.' };

const unknownExpectation: Refusal = {
  code: 'unknown-expectation',
  message: 'The header Expect may only be 100-continue.',
};

/** A worker gives the event up at once, and keeps this sentence with it; any 5xx would be tried again for hours. */
const loop: Refusal = {
  code: 'loop',
  message:
    'This is an event that Postrider delivers, so it is not taken as a call: it would be delivered without end. Point the destination at another URL.',
};

const notFound: Refusal = {
  code: 'not-found',
  message: `No such path. Use POST /v1/ with one of ${Object.keys(paths).join(', ')}, or GET /v1/pixel/ with one of ${callTypes.join(', ')}.`,
};

const unparsed: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: { code: 'headers-too-large', message: 'The headers are too large.' },
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: 'request-timeout',
    message: 'The request did not arrive in time.',
  },
};

/** Node could not parse the request, so the answer is written to the socket directly. */
function refuseUnparsed(deps: AcceptDeps, error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = unparsed[error.code ?? ''] ?? invalidRequest;
  deps.events.refusedRequest(refusal);
  const body = errorBody(refusal);
  const head = [
    `HTTP/1.1 ${statusOf(refusal)} Refused`,
    `content-type: ${jsonType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** A transparent image of one point, for pages and e-mails that can send no other request. */
const pixel: Buffer = Buffer.from(
  'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  'base64',
);

/** The call in the query, as the body of a request. Spaces were plus signs before the query was parsed. */
function pixelBody(query: unknown): Buffer | Refusal {
  const { data } = query as { readonly data?: unknown };
  if (typeof data !== 'string' || data === '') return noData;
  return Buffer.from(data.replaceAll(' ', '+'), 'base64');
}

/** Rewords a refusal of a body as one of the call in the query. */
function ofQuery(refusal: Refusal): Refusal {
  return { ...refusal, message: refusal.message.replace(/^The body/, 'The `data` of the query') };
}

const noData: Refusal = {
  code: 'no-data',
  message: 'The query has no `data`, which is a call as JSON in Base64.',
};
