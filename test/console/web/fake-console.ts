import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { askingBy } from '../../../src/console/access/may-ask.ts';
import { framedPolicy, headers } from '../../../src/console/access/page-headers.ts';
import type { Brand } from '../../../src/console/brand/brand.ts';
import { loadPages } from '../../../src/console/build-pages.ts';
import { destinationHealths } from '../../../src/event/destination-health.ts';
import { seenBy, Veil } from '../../../src/console/access/seen-by.ts';
import type { LinkRow, Redrive } from '../../../src/console/api/answers/actions.ts';
import type { Concern, Session } from '../../../src/console/api/answers/deployment.ts';
import type {
  DestinationDetail,
  DestinationRow,
  Overview,
} from '../../../src/console/api/answers/destinations.ts';
import { fakeApi, fakeEventNames, type FakeApi } from './fake-api.ts';
import { fakeData, type FakeData } from './fake-data.ts';

const veil = new Veil(Buffer.alloc(32, 1));

export interface FakeConsole {
  readonly origin: string;
  /** What was posted, in order. */
  readonly posted: { readonly path: string; readonly csrf: string; readonly body: unknown }[];
  /** Change it to have other answers from now on. */
  state: FakeState;
  /** The API that requests below `/manage` are passed on to. */
  readonly api: FakeApi;
  close(): void;
}

interface FakeState {
  readonly data: FakeData;
  readonly session: Session;
  /** The destinations of the customer in the session. */
  readonly own?: ReadonlySet<string>;
  readonly concerns?: readonly Concern[];
  /** The origins whose pages may show a customer's pages in a frame. */
  readonly frameAncestors?: readonly string[];
  /** Every answer of the API is this one. */
  readonly failure?: { readonly status: number; readonly detail: string };
}

export const operator: Session = {
  user: 'ines@example.com',
  role: 'operator',
  bodies: true,
  csrf: 'csrf-1',
  isOpen: false,
  version: '1.2.3',
};

const usualBrand: Brand = { name: 'Postrider', files: [] };
const bundled = new Map<Brand, ReturnType<typeof loadPages>>();

/** Bundled once for all tests of a process. */
function pagesOf(brand: Brand = usualBrand): ReturnType<typeof loadPages> {
  const pages = bundled.get(brand) ?? loadPages(brand);
  bundled.set(brand, pages);
  return pages;
}

/** The pages, and an API behind them that answers from memory. */
export async function startFakeConsole(
  given: Partial<FakeState> & { readonly brand?: Brand | undefined } = {},
  port = 0,
): Promise<FakeConsole> {
  const pages = new Map((await pagesOf(given.brand)).map((file) => [`/${file.path}`, file]));
  const index = pages.get('/index.html');
  const posted: FakeConsole['posted'] = [];
  let polls = 0;

  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://console');
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const framed = framedPolicy(url.pathname, fake.state.frameAncestors ?? []);
    if (framed !== undefined) {
      response.setHeader('content-security-policy', framed);
      response.removeHeader('x-frame-options');
    }
    if (url.pathname.startsWith('/api/v1/')) {
      void answer(url, request, response);
      return;
    }
    const file = pages.get(url.pathname) ?? index;
    if (file === undefined) throw new Error('the pages have no index.html');
    response.setHeader('content-type', file.contentType);
    response.setHeader('content-encoding', 'gzip');
    response.end(file.gzip);
  });

  const isRevoked = (id: string): boolean =>
    posted.some(({ path }) => path === `/links/${id}/revoke`);

  const answer = async (
    url: URL,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const path = url.pathname.slice('/api/v1'.length);
    const { failure } = fake.state;
    if (failure !== undefined) {
      send(response, failure.status, { type: 'about:blank', title: 'Failed', ...failure });
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Record<string, unknown>;
    if (path.startsWith('/manage/')) {
      const { method = '', headers } = request;
      const {
        status,
        body: said,
        headers: given = {},
      } = fake.api.answer({
        method,
        path: path.slice('/manage'.length),
        csrf: String(headers['x-csrf-token']),
        ifMatch: headers['if-match'],
        ifNoneMatch: headers['if-none-match'],
        body,
      });
      for (const [name, value] of Object.entries(given)) response.setHeader(name, value);
      send(response, status, said);
      return;
    }
    if (request.method === 'POST') {
      posted.push({ path, csrf: String(request.headers['x-csrf-token']), body });
      polls = 0;
      send(response, 200, answerToPost(path, body));
      return;
    }
    const found = path.startsWith('/redrives/')
      ? redriveAt(path.slice('/redrives/'.length), polls++)
      : path === '/links'
        ? { items: fake.state.data.destinations.map(linkTo).filter(({ id }) => !isRevoked(id)) }
        : answerTo(path, url.searchParams, fake.state);
    if (found === undefined)
      send(response, 404, {
        type: 'about:blank',
        title: 'Not found',
        status: 404,
        detail: 'There is no such thing.',
      });
    else {
      const asking = askingBy(fake.state.session, () => fake.state.own ?? new Set());
      send(response, 200, seenBy(asking, path, found, veil) as object);
    }
  };

  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const fake: FakeConsole = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posted,
    api: fakeApi(),
    state: {
      data: given.data ?? fakeData(5_000),
      session: given.session ?? operator,
      ...(given.own === undefined ? {} : { own: given.own }),
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return fake;
}

function send(response: ServerResponse, status: number, body: object): void {
  response.statusCode = status;
  response.setHeader(
    'content-type',
    status < 300 ? 'application/json' : 'application/problem+json',
  );
  response.end(JSON.stringify(body));
}

function answerTo(
  path: string,
  query: URLSearchParams,
  { data, session, own, concerns = [] }: FakeState,
): object | undefined {
  const list = (items: readonly object[]): object => page(items, query);
  const isWanted = (name: string, value: string): boolean =>
    [null, value].includes(query.get(name));
  const one = /^\/destinations\/([^/]+)(?:\/([a-z-]+))?$/.exec(path);
  if (one !== null) return ofDestination(decodeURIComponent(one[1] ?? ''), one[2], query, data);
  switch (path) {
    case '/session':
      return session;
    case '/freshness':
      return { asOf: new Date().toISOString(), concerns };
    case '/destinations': {
      const search = (query.get('search') ?? '').toLowerCase();
      const seen = data.destinations.filter(
        ({ id }) => session.role !== 'customer' || own?.has(id) === true,
      );
      const found = seen.filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(search));
      const state = query.get('state');
      const inState = found.filter((each) => state === null || each.state === state);
      const isByLetters = query.get('sort') === 'dead-letters';
      return {
        ...list(isByLetters ? inState.toSorted(byDeadLetters) : inState),
        counts: countsOf(found),
        customers: 0,
        overview: overviewOf(seen),
        indexing: { isCaughtUp: true },
      };
    }
    case '/event-names':
      return list(fakeEventNames);
    case '/dead-letters':
      return list(
        data.deadLetters.filter(
          ({ destination, reason }) =>
            isWanted('destination', destination) && isWanted('reason', reason),
        ),
      );
    case '/dead-letters/summary':
      return { items: data.deadLetterCounts };
    case '/events':
      return query.get('message') === data.story.messageId ? data.story : undefined;
    case '/events/search':
      return list(
        data.events.filter(({ outcome }) =>
          [null, outcome].includes(query.get('outcome') as never),
        ),
      );
    case '/pipeline':
      return data.pipeline;
    case '/rejected':
      return list(
        data.rejected.filter(
          ({ source = '', reason }) => isWanted('source', source) && isWanted('reason', reason),
        ),
      );
    case '/rejected/summary':
      return { items: data.rejectedCounts };
    case '/audiences':
      return list(data.audiences);
    case '/configuration':
      return configurationPage(data, query);
    case '/notices':
      return list(data.notices);
    case '/runs':
      return list(data.runs);
    case '/audit':
      return list(data.audit);
    default:
      return undefined;
  }
}

function byDeadLetters(a: DestinationRow, b: DestinationRow): number {
  return b.deadLetters - a.deadLetters;
}

function countsOf(found: readonly DestinationRow[]): Overview['counts'] {
  const counts = destinationHealths.map((each) => [
    each,
    found.filter(({ state }) => state === each).length,
  ]);
  return Object.fromEntries(counts) as Overview['counts'];
}

function overviewOf(all: readonly DestinationRow[]): Overview {
  const counts = countsOf(all);
  const byOtherUrl = all.filter((each) => each.byOtherUrl === true).length;
  const getNothing = counts.unreadable + counts.failing + counts.held - byOtherUrl;
  return { total: all.length, counts, getNothing, byOtherUrl };
}

function ofDestination(
  id: string,
  what: string | undefined,
  query: URLSearchParams,
  data: FakeData,
): object | undefined {
  const destination = data.destinations.find((each) => each.id === id);
  if (destination === undefined) return undefined;
  switch (what) {
    case undefined:
      return destination;
    case 'series':
      return data.series(id, query.get('range') ?? '1h');
    case 'attempts': {
      const user = query.get('user') ?? '';
      const found = data.attempts.filter(
        (line) =>
          (query.get('failed') === null ||
            (line.kind === 'attempt' && line.outcome !== 'delivered')) &&
          (user === '' || (line.kind !== 'bundle-deferred' && line.user === user)),
      );
      return page(found, query);
    }
    case 'dead-letters':
      return page(
        data.deadLetters.filter(({ destination: of }) => of === id),
        query,
      );
    default:
      return undefined;
  }
}

function configurationPage(
  { configuration: { items, unreadable } }: FakeData,
  query: URLSearchParams,
): object {
  const found = items.map((each) => each as Readonly<Record<'kind' | 'id' | 'name', string>>);
  const kind = query.get('kind');
  const sought = (query.get('search') ?? '').toLowerCase();
  const wanted = found
    .filter((each) => kind === null || each.kind === kind)
    .filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(sought));
  const kinds = Map.groupBy(found, (each) => each.kind);
  return {
    ...page(wanted, query),
    kinds: Object.fromEntries(Array.from(kinds, ([name, all]) => [name, all.length])),
    unreadable,
    unreadableTotal: unreadable.length,
  };
}

/** A cursor is how many were there before. */
function page(items: readonly object[], query: URLSearchParams): object {
  const from = Number(query.get('cursor') ?? 0);
  const limit = Number(query.get('limit') ?? 50);
  const next = from + limit < items.length ? { next: String(from + limit) } : {};
  return { items: items.slice(from, from + limit), ...next };
}

function answerToPost(path: string, body: Record<string, unknown>): object {
  if (path.endsWith('/links'))
    return { id: 'a1b2c3', path: '/l/made-once', until: '2026-02-07T12:00:00.000Z' };
  if (path === '/redrives' || path === '/rejected/redrives')
    return body['dryRun'] === true
      ? { id: 'counted', state: 'counting', found: 0, sent: 0 }
      : { id: 'r-1', state: 'running', found: 0, sent: 0 };
  if (path.endsWith('/test') || path.endsWith('/retry'))
    return {
      items: [
        {
          url: 'https://hooks.example/in',
          outcome: 'failed',
          status: 503,
          detail: 'answered 503',
          answer: 'down\nfor now',
          tookMs: 132,
        },
      ],
    };
  return {};
}

function redriveAt(id: string, poll: number): Redrive {
  if (id === 'counted')
    return poll === 0
      ? { id, state: 'counting', found: 800, sent: 0 }
      : { id, state: 'done', found: 1_204, sent: 0, detail: '3 events left out' };
  if (poll === 0) return { id, state: 'running', found: 600, sent: 600 };
  const outcome =
    // A page asks at once when it asks less often.
    poll <= 2
      ? { delivered: 1_000, refused: 0, waiting: 0, other: 204 }
      : { delivered: 1_190, refused: 14, waiting: 0, other: 0 };
  return { id, state: 'done', found: 1_204, sent: 1_204, outcome };
}

function linkTo({ id }: DestinationDetail): LinkRow {
  const [made, until] = ['2026-01-31T12:00:00.000Z', '2026-02-07T12:00:00.000Z'];
  return { id: 'd4e5f6', destination: id, bodies: true, made, until, by: 'issuer 7', name: 'Ines' };
}
