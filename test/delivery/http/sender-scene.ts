import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { after } from 'node:test';
import { AddressGuard } from '../../../src/delivery/http/address-guard.ts';
import { HttpSender } from '../../../src/delivery/http/http-sender.ts';
import { CachingResolver } from '../../../src/delivery/http/name-resolver.ts';
import type { Proxy } from '../../../src/delivery/http/proxy.ts';
import type { NameResolver } from '../../../src/delivery/http/name-resolver.ts';
import type { Outcome } from '../../../src/delivery/outcome.ts';
import { pathTo, PreparedDestination } from '../../../src/delivery/prepared-destination.ts';
import { noUrlValues, type UrlValues } from '../../../src/event/url-template.ts';
import { systemClock, type SteadyClock } from '../../../src/ops/clock.ts';
import type { Destination } from '../../../src/resources/resource.ts';

/** The real sender against real sockets. What a test opens here is closed after the file's last test. */

const closers: (() => unknown)[] = [];
after(async () => {
  await Promise.all(closers.map((close) => close()));
});

export function closeAfterwards(close: () => unknown): void {
  closers.push(close);
}

/** Long enough for everything on this machine that does not hang. */
export const timeoutMs = 400;
const allowLoopback: readonly string[] = ['127.0.0.0/8', '::1/128'];

export interface SenderSetup {
  readonly allowNetworks?: readonly string[];
  readonly guard?: AddressGuard;
  readonly resolver?: NameResolver;
  readonly timeoutMs?: number;
  readonly clock?: SteadyClock;
  readonly maxKept?: number;
  readonly proxy?: Proxy;
  readonly keptAnswerBytes?: number;
}

export function createSender(setup: SenderSetup = {}): HttpSender {
  const sender = new HttpSender({
    timeoutMs: setup.timeoutMs ?? timeoutMs,
    guard: setup.guard ?? new AddressGuard(setup.allowNetworks ?? allowLoopback),
    resolver: setup.resolver ?? new CachingResolver(systemClock),
    clock: setup.clock ?? systemClock,
    proxy: setup.proxy,
    ...(setup.maxKept === undefined ? {} : { maxKept: setup.maxKept }),
    ...(setup.keptAnswerBytes === undefined ? {} : { keptAnswerBytes: setup.keptAnswerBytes }),
  });
  closeAfterwards(() => sender.close());
  return sender;
}

/** Names that all lead to these IPv4 addresses. */
export function leadingTo(...addresses: readonly string[]): NameResolver {
  const answer = addresses.map((address) => ({ address, family: 4 }));
  return {
    resolve: (_name, callback) => {
      process.nextTick(callback, null, answer);
    },
    distrust: () => undefined,
  };
}

export interface Result {
  readonly outcome: Outcome;
  /** The outcome in a word or two: what the contract's table has on its right side. */
  readonly verdict: string;
  readonly tookMs: number;
}

export interface PostOptions {
  readonly sender?: HttpSender;
  readonly body?: string;
  readonly destination?: Partial<Destination>;
  readonly messageId?: string;
  readonly urlValues?: UrlValues;
  /** Default 0: no batch. */
  readonly batchSize?: number;
  /** Default true. */
  readonly mayFollow?: boolean;
  /** The value of that header, as a token gives it. */
  readonly authorization?: string;
}

let shared: HttpSender | undefined;

/** One POST as the worker does it. */
export function post(url: string, options: PostOptions = {}): Promise<Result> {
  const sender = options.sender ?? (shared ??= createSender());
  const prepared = new PreparedDestination({
    kind: 'Destination',
    id: 'crm',
    name: 'CRM',
    sources: ['shop'],
    enabled: true,
    webhooks: [{ url, headers: {} }],
    payload: 'standard',
    topic: 'shared',
    ...options.destination,
  });
  const body = Buffer.from(options.body ?? '{"a":1}');
  const [endpoint] = prepared.endpoints;
  if (endpoint === undefined) throw new Error('no endpoint');
  return new Promise((resolve) => {
    const messageId = options.messageId ?? 'm1';
    const headers = prepared.headersOf(messageId, body, Date.now());
    const settled = (outcome: Outcome, _index: number, tookMs: number): void => {
      resolve({ outcome, verdict: verdictOf(outcome), tookMs });
    };
    const mayFollow = (): boolean => options.mayFollow ?? true;
    const authorization = (): string | undefined => options.authorization;
    const path = pathTo(endpoint, options.urlValues ?? noUrlValues);
    if (typeof path !== 'string') throw new Error(`no ${path.missing}`);
    const { batchSize = 0 } = options;
    const sending = { body, headers, messageId, batchSize, authorization, mayFollow, settled };
    sender.send(sending, endpoint, 0, path);
  });
}

function verdictOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'delivered':
      return 'delivered';
    case 'retryable':
      return `retryable: ${outcome.cause}`;
    case 'permanent':
      return `dead letter ${outcome.reason}`;
  }
}

/** The port that it got: any that is free, unless one is wanted. */
export async function listen(
  server: Server,
  host: string = '127.0.0.1',
  port: number = 0,
): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  closeAfterwards(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A URL that nobody listens at. */
export async function closedPort(): Promise<string> {
  const server = createTcpServer();
  const port = await listen(server);
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}

/** A proper HTTP server's URL. */
export async function http(listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener);
  const port = await listen(server);
  closeAfterwards(() => {
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${port}`;
}

export interface RawServer {
  readonly url: string;
  readonly connections: () => number;
  /** Everything that was sent to it. */
  readonly received: () => string;
}

/** A server that does with each connection whatever it wants. */
export async function rawServer(onConnection: (socket: Socket) => void): Promise<RawServer> {
  let connections = 0;
  let received = '';
  const server = createTcpServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => (received += chunk.toString('latin1')));
    closeAfterwards(() => socket.destroy());
    onConnection(socket);
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    connections: () => connections,
    received: () => received,
  };
}

/** Answers the first request of each connection with these bytes, or by doing something with the socket. */
export async function raw(answer: string | ((socket: Socket) => void)): Promise<string> {
  const { url } = await rawServer((socket) => {
    socket.once('data', () => {
      if (typeof answer === 'string') socket.write(answer, 'latin1');
      else answer(socket);
    });
  });
  return url;
}

/** Calls `write` until the other side has had enough; `write` says whether there is room for more. */
export function flood(socket: Socket, write: () => boolean): void {
  const more = (): void => {
    while (!socket.destroyed && write());
  };
  socket.on('drain', more);
  more();
}
