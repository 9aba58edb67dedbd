import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { createAccess, type AccessSettings } from '../../../src/console/access/access.ts';
import {
  CustomerLinks,
  madeLink,
  makeLink,
  type CustomerLink,
  type IdentityOf,
  type LinksToCustomers,
} from '../../../src/console/access/customer-link.ts';
import { addLinkActions } from '../../../src/console/actions/links.ts';
import type { AuditRecord } from '../../../src/event/audit-entry.ts';
import type { Session } from '../../../src/console/api/answers/deployment.ts';
import type { Story } from '../../../src/console/api/answers/events.ts';
import { addActions, type ActionDeps } from '../../../src/console/actions/routes.ts';
import { addEventRoutes } from '../../../src/console/api/routes/events.ts';
import type { RouteDeps } from '../../../src/console/api/routes/route.ts';
import { createConsoleServer } from '../../../src/console/api/server.ts';
import type { PageFile } from '../../../src/console/page-file.ts';
import { ApiClient } from '../../../src/console/manage/api-client.ts';
import { addPassOn } from '../../../src/console/manage/pass-on.ts';
import type { CustomersLink } from '../../../src/resources/customers/links.ts';
import type { Clock } from '../../../src/ops/clock.ts';
import { silentLogger, type Logger } from '../../../src/ops/log.ts';

/** Of a test: what ends with it. */
export interface Ending {
  after(end: () => unknown): void;
}

export type Told = Omit<AuditRecord, 'id' | 'at'>;

/** A console without Kafka: its real server and access, and routes that answer something short. */
export interface Stand {
  readonly url: string;
  readonly clock: Clock & { forward(byMs: number): void };
  /** Requests that reached a route which changes something. */
  readonly done: string[];
  /** Which destination has an id: the first one in the beginning. */
  readonly uids: Map<string, string | undefined>;
  /** What the audit has. */
  readonly told: Told[];
  /** Whose each destination is. */
  readonly customers: Map<string, string>;
  /** The links to customers that were made, by their tokens. */
  readonly toCustomers: Map<string, CustomersLink>;
  /** A link that another process made. */
  linkTo(shown: CustomerLink): string;
  linkToCustomer(token: string, customer: string, more?: Partial<CustomersLink>): string;
}

const nothing: AccessSettings = {
  host: '127.0.0.1',
  url: undefined,
  brand: { name: 'Harbor & Sons', files: [] },
  sessionKey: undefined,
  tokensFile: undefined,
  oidc: undefined,
  passesOn: false,
  frameAncestors: [],
};

export const sessionKey: Buffer = randomBytes(32);

/** What happened to an event at two destinations. */
export const story: Story = {
  messageId: 'm1',
  user: 'u1',
  source: 'shop',
  type: 'track',
  event: 'Order Completed',
  received: [
    {
      at: '2026-01-31T12:00:00.000Z',
      topic: 'postrider.ingest',
      place: '0:1',
      outcome: 'routed',
      detail: 'to crm and billing',
    },
  ],
  destinations: ['crm', 'billing'].map((destination) => ({
    destination,
    uid: null,
    state: 'delivered',
    at: '2026-01-31T12:00:01.000Z',
    detail: `by ${destination}`,
    until: null,
    deadline: null,
    place: null,
    unwanted: null,
    happened: [],
  })),
  copies: ['crm', 'billing'].map((destination) => ({
    destination,
    headers: {},
    body: `body for ${destination}`,
  })),
};

export async function startStand(
  t: Ending,
  settings: Partial<AccessSettings> = {},
  {
    log = silentLogger,
    port = 0,
    trustedProxies = [],
    explain,
    actions,
    apiUrl,
    pages = [],
    answer = ({ params }) => ({ params }),
    earlier = [],
  }: {
    readonly log?: Logger;
    readonly port?: number;
    readonly trustedProxies?: readonly string[];
    /** Events are read with it, by the console's own route. */
    readonly explain?: RouteDeps['explain'];
    readonly pages?: readonly PageFile[];
    /** The API that requests are passed on to. */
    readonly apiUrl?: string;
    /** For the console's own routes of what operators may do. */
    readonly actions?: ActionDeps;
    /** To requests about destinations. */
    /** What the audit has when the console starts. */
    readonly earlier?: readonly Told[];
    readonly answer?: (request: { readonly params: unknown; readonly query: unknown }) => unknown;
  } = {},
): Promise<Stand> {
  let nowMs = Date.now();
  const clock = {
    now: () => nowMs,
    after: () => ({ cancel: () => undefined }),
    forward: (byMs: number) => {
      nowMs += byMs;
    },
  };
  const done: string[] = [];
  const uids = new Map<string, string | undefined>([
    ['crm', undefined],
    ['billing', undefined],
    ['lab', undefined],
  ]);
  const customers = new Map<string, string>();
  const identityOf: IdentityOf = (id) => (uids.has(id) ? { id, uid: uids.get(id) } : undefined);
  const links = new CustomerLinks();
  const told: Told[] = [];
  const tell = (entry: Told): void => {
    told.push(entry);
    const record = { id: '', at: new Date(nowMs).toISOString(), ...entry };
    links.apply(record, nowMs);
    access.audited(record);
  };
  const audit = {
    links,
    tell,
    tellSeldom: tell,
    write: (entry: Told) => {
      tell(entry);
      return Promise.resolve('entry');
    },
  };
  const toCustomers = new Map<string, CustomersLink>();
  const customerLinks: LinksToCustomers = {
    get: (id, atMs) =>
      [...toCustomers.values()].find((link) => link.id === id && atMs < link.untilMs),
    byToken: (token, atMs) => {
      const link = toCustomers.get(token);
      return link !== undefined && atMs < link.untilMs ? link : undefined;
    },
  };
  const deps = { log, clock, identityOf, audit, customerLinks };
  const access = createAccess({ ...nothing, passesOn: apiUrl !== undefined, ...settings }, deps);
  const client = apiUrl === undefined ? undefined : new ApiClient(apiUrl, () => undefined);
  for (const entry of earlier) tell(entry);
  const server = await createConsoleServer({
    access,
    trustedProxies,
    log,
    pages,
    frameAncestors: settings.frameAncestors ?? [],
    destinationsOf: (customer) =>
      new Set([...customers].filter(([, whose]) => whose === customer).map(([id]) => id)),
    dated: () => ({}),
    routes: (api) => {
      for (const path of ['/destinations', '/destinations/:id', '/pipeline']) api.get(path, answer);
      if (explain === undefined) api.get('/events', () => story);
      else {
        const live = { resources: new Map(), identityOf };
        addEventRoutes(api, { explain, live, audit } as unknown as RouteDeps);
      }
      addLinkActions(api, { audit, clock, identityOf });
      if (client !== undefined)
        addPassOn(api, { client, credentialOf: (request) => access.credentialOf(request) });
      if (actions !== undefined) {
        addActions(api, actions);
        return;
      }
      for (const path of ['/destinations/:id/pause', '/redrives'])
        api.post(path, ({ url }) => {
          done.push(url);
          return {};
        });
    },
    onFailure: () => undefined,
    onAnswer: () => undefined,
  });
  await server.listen({ port, host: '127.0.0.1' });
  t.after(() => Promise.all([server.close(), client?.stop()]));
  const { port: chosen } = server.server.address() as AddressInfo;
  const linkToCustomer = (
    token: string,
    customer: string,
    more: Partial<CustomersLink> = {},
  ): string => {
    const id = createHash('sha256').update(token).digest('hex').slice(0, 12);
    const untilMs = nowMs + 86_400_000;
    const made = { user: 'olga', at: new Date(nowMs).toISOString(), sha256: '' };
    const link = { id, customer, manage: false, bodies: false, untilMs, ...made, ...more };
    toCustomers.set(token, link);
    return `http://127.0.0.1:${chosen}/l/${token}`;
  };
  const linkTo = (shown: CustomerLink): string => {
    const { path, link } = makeLink(shown);
    tell({ user: 'system user olga', via: 'command-line', ...madeLink(link) });
    return `http://127.0.0.1:${chosen}${path}`;
  };
  const url = `http://127.0.0.1:${chosen}`;
  return { url, clock, done, uids, told, customers, toCustomers, linkTo, linkToCustomer };
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly setCookies: readonly string[];
}

/** A browser as far as cookies go. It follows no redirect, and sends what it is told. */
export class Browser {
  readonly #base: string;
  readonly jar: Map<string, string> = new Map();

  constructor(base: string) {
    this.#base = base;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Reply> {
    return this.#ask('GET', path, headers);
  }

  /** As a page of the console: JSON, with the token of its session. */
  async post(
    path: string,
    headers: Record<string, string> = {},
    body: object = {},
  ): Promise<Reply> {
    return this.#ask(
      'POST',
      path,
      {
        'content-type': 'application/json',
        origin: this.#base,
        'sec-fetch-site': 'same-origin',
        ...headers,
      },
      JSON.stringify(body),
    );
  }

  /** As `post`, with any method and body. */
  send(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string,
  ): Promise<Reply> {
    const origin = { origin: this.#base, 'sec-fetch-site': 'same-origin' };
    return this.#ask(method, path, { ...origin, ...headers }, body);
  }

  submit(
    path: string,
    fields: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const body = new URLSearchParams(fields).toString();
    return this.#ask(
      'POST',
      path,
      {
        'content-type': 'application/x-www-form-urlencoded',
        origin: this.#base,
        'sec-fetch-site': 'same-origin',
        ...headers,
      },
      body,
    );
  }

  async session(): Promise<Session> {
    return JSON.parse((await this.get('/api/v1/session')).text) as Session;
  }

  async #ask(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<Reply> {
    const url = new URL(path, this.#base);
    const cookie = [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const given = cookie === '' ? headers : { cookie, ...headers };
    const answer = await request(url, {
      method: method as 'GET',
      headers: given,
      body: body ?? null,
    });
    const setCookies = [answer.headers['set-cookie'] ?? []].flat();
    for (const line of setCookies) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '' || /max-age=0(?:;|$)/i.test(line)) this.jar.delete(name);
      else this.jar.set(name, value);
    }
    const { statusCode: status, headers: got } = answer;
    return { status, headers: got, text: await answer.body.text(), setCookies };
  }
}

export function tokensFile(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'postrider-tokens-')), 'tokens.yaml');
  writeFileSync(file, text);
  return file;
}

/** Of one who is known by the token `<name>-token`. */
export function tokenEntry(name: string, role: string, token: string = `${name}-token`): string {
  const sha256 = createHash('sha256').update(token).digest('hex');
  return `- { name: ${name}, role: ${role}, sha256: '${sha256}' }\n`;
}

export const twoTokens: string = tokenEntry('olga', 'operator') + tokenEntry('vera', 'viewer');

/** A browser in which somebody of `twoTokens` has logged in. */
export async function loggedIn(stand: Stand, name: string): Promise<Browser> {
  const browser = new Browser(stand.url);
  await browser.submit('/login', { token: `${name}-token` });
  return browser;
}
