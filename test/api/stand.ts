import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose';
import type { FastifyInstance } from 'fastify';
import { createAccess, type AccessSettings } from '../../src/api/access/access.ts';
import type { ApiOidcSettings } from '../../src/api/access/json-web-tokens.ts';
import { createApiServer, callerOf } from '../../src/api/server.ts';
import { sha256 } from '../../src/http-api/tokens.ts';
import { systemClock, type Clock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { CustomersLinks, makeCustomersLink } from '../../src/resources/customers/links.ts';

/** Of a test: what ends with it. */
export interface Ending {
  after(end: () => unknown): void;
}

/** An API without Kafka: its real server and access. */
export interface ApiStand {
  readonly url: string;
  readonly links: CustomersLinks;
  readonly clock: Clock & { forward(byMs: number): void };
  /** The token of a new link. */
  readonly linkTo: (
    customer: string,
    wanted?: { readonly manage?: boolean; readonly lastsMs?: number },
  ) => string;
  readonly ask: (path: string, asked?: Asked) => Promise<Answered>;
  /** The server itself, for requests without a socket. */
  readonly server: FastifyInstance;
}

interface Asked {
  readonly method?: string;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Readonly<Record<string, unknown>>;
  /** Of a problem. */
  readonly detail: string;
}

const noTokens: AccessSettings = {
  host: undefined,
  tokensFile: undefined,
  oidc: undefined,
  rateLimit: 1_000,
};

/** A clock that stands still until it is set forward. */
export function handClock(): ApiStand['clock'] {
  let aheadMs = 0;
  const startMs = systemClock.now();
  return {
    now: () => startMs + aheadMs,
    after: (delayMs, callback) => systemClock.after(delayMs, callback),
    forward: (byMs) => {
      aheadMs += byMs;
    },
  };
}

export async function startApiStand(
  t: Ending,
  settings: Partial<AccessSettings>,
  routes: (api: FastifyInstance, stand: Pick<ApiStand, 'links' | 'clock'>) => void = addWhoRoutes,
): Promise<ApiStand> {
  const clock = handClock();
  const links = new CustomersLinks();
  const access = createAccess(
    { ...noTokens, ...settings },
    { log: silentLogger, clock, links: () => links },
  );
  const server = await createApiServer({
    access,
    trustedProxies: [],
    log: silentLogger,
    routes: (api) => {
      routes(api, { links, clock });
    },
    onFailure: () => undefined,
    onAnswer: () => undefined,
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  return {
    url,
    server,
    links,
    clock,
    linkTo: (customer, { manage = false, lastsMs = 60_000 } = {}) => {
      const { token, link } = makeCustomersLink({
        customer,
        manage,
        bodies: false,
        untilMs: clock.now() + lastsMs,
        user: 'shop',
        at: new Date(clock.now()).toISOString(),
      });
      links.put(link);
      return token;
    },
    ask: async (path, { method = 'GET', token, headers, body } = {}) => {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const json = (text === '' ? {} : JSON.parse(text)) as Answered['json'];
      const { detail = '' } = json as { readonly detail?: string };
      return { status: response.status, headers: response.headers, json, detail };
    },
  };
}

/** Routes that say who asks, one for each scope. */
function addWhoRoutes(api: FastifyInstance): void {
  for (const scope of ['read', 'write', 'operate'] as const)
    api.get(`/may/${scope}`, { config: { scope } }, (request) => {
      const { scopes, customers, ...caller } = callerOf(request);
      return { ...caller, scopes: [...scopes], customers: customers && [...customers] };
    });
}

/** An entry of a file of tokens; the token of `shop` is `shop-token`. */
export function tokenEntry(name: string, fields: string): string {
  return `- name: ${name}\n  sha256: ${sha256(`${name}-token`).toString('hex')}\n  ${fields}\n`;
}

export function tokensFile(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'postrider-tokens-')), 'tokens.yaml');
  writeFileSync(file, text);
  return file;
}

/** An identity provider as far as the API knows one: its metadata and its keys. */
export interface KeyProvider {
  readonly issuer: string;
  /** Requests for its keys. */
  readonly asked: () => number;
  sign(
    claims: Readonly<Record<string, unknown>>,
    header?: { readonly typ?: string },
  ): Promise<string>;
  /** From now on it signs with another key, and says nothing of the former one. */
  rotate(): Promise<void>;
  /** Instead of its keys. */
  answersWith(answer: { readonly status: number; readonly body: string } | undefined): void;
}

export async function startKeyProvider(t: Ending): Promise<KeyProvider> {
  let pair: { readonly privateKey: CryptoKey; readonly publicKey: CryptoKey };
  let kid = 0;
  let keys = '';
  let asked = 0;
  let other: { readonly status: number; readonly body: string } | undefined;
  const rotate = async (): Promise<void> => {
    pair = await generateKeyPair('ES256');
    kid += 1;
    keys = JSON.stringify({ keys: [{ ...(await exportJWK(pair.publicKey)), kid: `${kid}` }] });
  };
  await rotate();
  const server = createServer((request, response) => {
    if (request.url === '/.well-known/openid-configuration')
      response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }));
    else {
      asked += 1;
      response.statusCode = other?.status ?? 200;
      response.end(other?.body ?? keys);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    asked: () => asked,
    sign: (claims, header = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: `${kid}`, ...header })
        .sign(pair.privateKey),
    rotate,
    answersWith: (answer) => {
      other = answer;
    },
  };
}

export function oidcOf(
  { issuer }: KeyProvider,
  more: Partial<ApiOidcSettings> = {},
): ApiOidcSettings {
  return {
    issuer,
    audience: 'postrider-api',
    scopeClaim: 'scope',
    customersClaim: undefined,
    operators: undefined,
    ...more,
  };
}
