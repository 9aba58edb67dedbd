import type { TestAnswer } from '../../../src/console/api/answers/actions.ts';
import type { EventName } from '../../../src/console/api/answers/events.ts';

/** A request that the console has passed on. */
interface PassedOn {
  readonly method: string;
  /** Behind `/manage`. */
  readonly path: string;
  readonly csrf: string;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Answered {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

type Document = Readonly<Record<string, unknown>>;

/** The API behind the console, for pages: destinations in memory, with versions. */
export interface FakeApi {
  readonly asked: PassedOn[];
  readonly destinations: Map<string, { readonly version: number; readonly document: Document }>;
  /** The answers to test events, one for each test; when they are used up, all is well. */
  tests: Partial<TestAnswer>[];
  /** Answers the next request that writes, and is gone then. */
  refusal?: Answered | undefined;
  answer(request: PassedOn): Answered;
}

export const fakeEventNames: readonly EventName[] = [
  {
    type: 'track',
    name: 'Order Completed',
    description: 'A customer has paid for an order.',
    example: { type: 'track', event: 'Order Completed', properties: { revenue: 39.95 } },
  },
  { type: 'track', name: 'Order Refunded', description: 'Money has gone back.' },
  {
    type: 'track',
    name: 'Cart Viewed',
    seen: { at: '2026-01-31T12:00:00.000Z', messageId: 'm-1', destination: 'crm' },
  },
];

export const madeSecret = 'whsec_bWFkZS1ieS10aGUtZmFrZS1hcGktZm9yLXBhZ2VzIQ==';

export function fakeApi(): FakeApi {
  const api: FakeApi = {
    asked: [],
    destinations: new Map(),
    tests: [],
    answer(request) {
      api.asked.push(request);
      const { refusal } = api;
      if (refusal !== undefined && request.method !== 'GET') {
        api.refusal = undefined;
        return refusal;
      }
      const run = /^\/runs\/(.+)$/.exec(request.path)?.[1];
      if (run !== undefined) return ok({ id: run, state: 'done', found: 12, sent: 12 });
      if (/^\/customers\/[^/]+\/redrive$/.test(request.path)) return redriven(request.body);
      const [, id = '', action] =
        /^\/destinations\/([^/]+)(?:\/([a-z]+))?$/.exec(request.path) ?? [];
      const known = api.destinations.get(decodeURIComponent(id));
      if (action !== undefined)
        return known === undefined ? notFound() : operated(api, known.document, action, request);
      return resource(api, decodeURIComponent(id), request);
    },
  };
  return api;
}

function resource(api: FakeApi, id: string, request: PassedOn): Answered {
  const { method, body, ifMatch, ifNoneMatch } = request;
  const known = api.destinations.get(id);
  if (method === 'PUT' && known === undefined) {
    api.destinations.set(id, { version: 1, document: { ...body, managedBy: 'api' } });
    return { status: 201, body: { ...body, sharedSecret: madeSecret }, headers: { etag: '"1"' } };
  }
  if (known === undefined) return notFound();
  if (ifNoneMatch === '*') return problem(409, 'The id is taken.');
  const { version, document } = known;
  if (ifMatch !== undefined && ifMatch !== `"${version}"`)
    return problem(412, 'It was changed meanwhile.');
  if (method === 'DELETE') {
    api.destinations.delete(id);
    return ok({});
  }
  if (method === 'GET') return ok(document, version);
  const next = Object.entries({ ...document, ...body }).filter(([, value]) => value !== null);
  api.destinations.set(id, { version: version + 1, document: Object.fromEntries(next) });
  return ok(Object.fromEntries(next), version + 1);
}

function operated(api: FakeApi, document: Document, action: string, { body }: PassedOn): Answered {
  switch (action) {
    case 'test': {
      const [{ url = '' } = {}] = document['webhooks'] as { url?: string }[];
      const told = api.tests.shift() ?? { outcome: 'delivered', status: 200 };
      return ok({ items: [{ url, outcome: 'failed', tookMs: 132, ...told }] });
    }
    case 'secret':
      return ok({ sharedSecret: madeSecret, formerUntil: '2026-02-07T12:00:00.000Z' });
    case 'redrive':
      return redriven(body);
    default:
      return ok({});
  }
}

function redriven({ dryRun }: PassedOn['body']): Answered {
  return dryRun === true
    ? ok({ id: 'counted', state: 'done', found: 12, sent: 0 })
    : { status: 202, body: { id: 'r-7', state: 'running', found: 12, sent: 4 } };
}

function ok(body: object, version?: number): Answered {
  return {
    status: 200,
    body,
    ...(version === undefined ? {} : { headers: { etag: `"${version}"` } }),
  };
}

export function problem(status: number, detail: string, more: object = {}): Answered {
  return { status, body: { type: 'about:blank', title: 'Refused', status, detail, ...more } };
}

function notFound(): Answered {
  return problem(404, 'There is no such destination.');
}
