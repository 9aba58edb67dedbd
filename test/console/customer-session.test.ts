import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { Registry } from 'prom-client';
import { createAccess } from '../../src/console/access/access.ts';
import { CustomerLinks } from '../../src/console/access/customer-link.ts';
import type {
  DestinationDetail,
  DestinationList,
} from '../../src/console/api/answers/destinations.ts';
import type { EventName, Story } from '../../src/console/api/answers/events.ts';
import type { Page } from '../../src/console/api/answers/shapes.ts';
import { orders } from '../../src/console/api/choices.ts';
import { addDeploymentRoutes } from '../../src/console/api/routes/deployment.ts';
import { addDestinationRoutes } from '../../src/console/api/routes/destinations.ts';
import { addEventRoutes } from '../../src/console/api/routes/events.ts';
import { addLetterRoutes } from '../../src/console/api/routes/letters.ts';
import type { RouteDeps } from '../../src/console/api/routes/route.ts';
import { createConsoleServer } from '../../src/console/api/server.ts';
import { hashOf } from '../../src/console/index/attempt-rows.ts';
import { openIndexDatabase, type IndexDatabase } from '../../src/console/index/database.ts';
import { LastHours } from '../../src/console/index/last-hour.ts';
import { Pasts } from '../../src/console/index/pasts.ts';
import { bucketMs } from '../../src/console/index/schema.ts';
import { Words } from '../../src/console/index/words.ts';
import { ConsoleMetrics } from '../../src/console/metrics.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { Pauses } from '../../src/resources/pauses/pauses.ts';
import type { CustomersLink } from '../../src/resources/customers/links.ts';
import { sessionKey, story, tokensFile, twoTokens } from './access/stand.ts';

/** Two customers of one platform: whatever is acme's has `acme` in it, and whatever is not has `other`. */
const nowMs = Date.UTC(2026, 0, 31, 12);
const atMs = nowMs - 20 * 60_000;
const customers = new Map([
  ['acme-crm', 'acme'],
  ['acme-mail', 'acme'],
  ['other-crm', 'other'],
  ['other-lab', undefined],
]);
const ids = [...customers.keys()];

const links = new Map<string, CustomersLink>(
  ['acme', 'other', 'nobody'].map((customer) => {
    const made = { sha256: '', user: 'olga', at: new Date(nowMs).toISOString() };
    const shown = { manage: false, bodies: true, untilMs: nowMs + 86_400_000 };
    return [`prl_${customer}`, { id: customer, customer, ...shown, ...made }];
  }),
);

const resources = new Map(
  ids.map((id) => [
    `Destination/${id}`,
    {
      kind: 'Destination',
      id,
      name: `The ${id}`,
      customer: customers.get(id),
      enabled: true,
      webhooks: [],
    },
  ]),
);

let server: FastifyInstance;
let database: IndexDatabase;
let folder: string;
/** The destination that the story of an event was asked for. */
const explained: (string | undefined)[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-customer-'));
  const metrics = new ConsoleMetrics(new Registry());
  database = await openIndexDatabase(folder, { log: silentLogger, metrics });
  const words = new Words();
  const lastHours = new LastHours();
  for (const [seq, id] of ids.entries()) {
    const [destination, url] = [words.idOf(id), words.idOf(`https://${id}.example/hook`)];
    const bucket = Math.floor(atMs / bucketMs);
    lastHours.add(destination, bucket, 0, 255);
    await database.writer.run(`
      insert into attempts by name select ${seq + 1} as seq, ${atMs} as at_ms, ${destination} as destination,
        0 as what, 255 as latency, ${words.idOf(`${id}-shop`)} as source, ${words.idOf('track')} as type,
        'Event of ${id}' as event_name, 'm-${id}' as message, ${hashOf(`m-${id}`)} as message_hash,
        'u-${id}' as usr, ${hashOf(`u-${id}`)} as user_hash, 1 as attempt, ${url} as url, 200 as status,
        9 as took_ms, '{}' as rest;
      insert into buckets values (${bucket}, ${destination}, ${url}, 0, 255, 1);
      insert into dead_letters by name select 0 as part, ${seq} as pos, ${atMs} as at_ms, ${destination} as whose,
        ${words.idOf('expired')} as reason, '{"user":"u-${id}","detail":"for ${id}"}' as rest`);
  }
  const identityOf = (id: string): { id: string } | undefined =>
    customers.has(id) ? { id } : undefined;
  const destinationsOf = (customer: string): ReadonlySet<string> =>
    new Set(ids.filter((id) => customers.get(id) === customer));
  const clock = { now: () => nowMs, after: () => ({ cancel: () => undefined }) };
  const current = { database, lastHours, words, countedSeq: ids.length, pasts: new Pasts() };
  const deps = {
    index: { current, asOfMs: () => nowMs, isCaughtUp: () => true },
    live: {
      resources,
      unreadable: new Map(),
      pauses: new Pauses(),
      audiences: new Map(),
      identityOf,
      destinationsOf,
      notices: () => [],
      statuses: () => [],
      asOfMs: () => nowMs,
    },
    clock,
    audit: { entries: () => [], tellSeldom: () => undefined },
    catalog: () => [{ type: 'track', name: 'Event of acme-mail', example: { event: 'made up' } }],
    explain: (_message: string, _user: unknown, _signal: unknown, own?: { id: string }) => {
      explained.push(own?.id);
      const destinations = ids.map((destination) => ({ ...story.destinations[0], destination }));
      const bodies = ids.map((id) => ({ id, body: `body for ${id}` }));
      return Promise.resolve({ story: { ...story, destinations }, bodies });
    },
  } as unknown as RouteDeps;
  const access = createAccess(
    {
      host: '127.0.0.1',
      url: undefined,
      brand: { name: 'Postrider', files: [] },
      sessionKey,
      tokensFile: tokensFile(twoTokens),
      oidc: undefined,
      passesOn: false,
      frameAncestors: [],
    },
    {
      log: silentLogger,
      clock,
      identityOf,
      audit: { links: new CustomerLinks(), tell: () => undefined, tellSeldom: () => undefined },
      customerLinks: {
        get: (id) => links.get(`prl_${id}`),
        byToken: (token) => links.get(token),
      },
    },
  );
  server = await createConsoleServer({
    access,
    trustedProxies: [],
    log: silentLogger,
    pages: [],
    frameAncestors: [],
    destinationsOf,
    routes: (api) => {
      addDestinationRoutes(api, deps);
      addLetterRoutes(api, deps);
      addEventRoutes(api, deps);
      addDeploymentRoutes(api, deps);
    },
    dated: () => ({}),
    onFailure: () => undefined,
    onAnswer: () => undefined,
  });
});

after(async () => {
  await server.close();
  await database.close();
  await rm(folder, { recursive: true });
});

/** @returns what asks with the session of the customer's link, and follows `/api/v1` */
async function openedBy(
  customer: string,
): Promise<(path: string) => Promise<LightMyRequestResponse>> {
  const { cookies } = await server.inject(`/l/prl_${customer}`);
  const [cookie] = cookies as { name: string; value: string }[];
  assert.ok(cookie !== undefined);
  const headers = { cookie: `${cookie.name}=${cookie.value}`, 'x-postrider-link': customer };
  return (path) => server.inject({ url: `/api/v1${path}`, headers });
}

test('staff finds destinations by customer, and sees how many customers they are of', async () => {
  const headers = { authorization: 'Bearer olga-token' };
  const ask = async (query: string): Promise<DestinationList> =>
    (await server.inject({ url: `/api/v1/destinations${query}`, headers })).json();
  const all = await ask('');
  assert.deepEqual([all.items.length, all.customers], [4, 2]);
  for (const query of ['?customer=acme', '?search=ACM']) {
    const { items, customers: many, overview } = await ask(query);
    assert.deepEqual(items.map(({ id }) => id).sort(), ['acme-crm', 'acme-mail']);
    assert.deepEqual([items[0]?.customer, many, overview.total], ['acme', 1, 4]);
  }
  assert.deepEqual((await ask('?customer=acm')).items, []);
  const other = await openedBy('other');
  assert.deepEqual((await other('/destinations?customer=acme')).json<DestinationList>().items, []);
});

test('a customer sees all of their destinations, with what has happened there, and counts of these alone', async () => {
  const ask = await openedBy('acme');
  const { items, counts, overview } = (await ask('/destinations')).json<DestinationList>();
  assert.deepEqual(items.map(({ id }) => id).sort(), ['acme-crm', 'acme-mail']);
  assert.equal(overview.total, 2);
  assert.equal(
    Object.values(counts).reduce((sum, each) => sum + each, 0),
    2,
  );
  const found = (await ask('/destinations?search=mail&limit=1')).json<DestinationList>();
  assert.deepEqual(
    found.items.map(({ id }) => id),
    ['acme-mail'],
  );
  const first = (await ask('/destinations?limit=1')).json<DestinationList>();
  const second = (
    await ask(`/destinations?limit=1&cursor=${first.next ?? ''}`)
  ).json<DestinationList>();
  assert.notEqual(first.items[0]?.id, second.items[0]?.id);
  assert.equal(second.next, undefined);
  for (const id of ['acme-crm', 'acme-mail']) {
    const detail = (await ask(`/destinations/${id}`)).json<DestinationDetail>();
    assert.deepEqual([detail.id, detail.deadLetters, detail.resource], [id, 1, undefined]);
    for (const list of ['attempts', 'dead-letters']) {
      const page = (await ask(`/destinations/${id}/${list}`)).json<Page<unknown>>();
      assert.equal(page.items.length, 1, `${id} ${list}`);
    }
  }
});

test('an event is told for one destination, which a customer with several names', async () => {
  const ask = await openedBy('acme');
  const unnamed = await ask('/events?message=m1');
  assert.equal(unnamed.statusCode, 400);
  assert.match(unnamed.body, /destination is missing/);
  assert.equal((await ask('/events?message=m1&destination=other-crm')).statusCode, 404);
  explained.length = 0;
  const answer = await ask('/events?message=m1&user=u1&destination=acme-mail');
  const { destinations, copies } = answer.json<Story>();
  assert.deepEqual(explained, ['acme-mail'], 'nothing of others is read for it');
  for (const each of [...destinations, ...(copies ?? [])]) assert.match(each.destination, /^acme-/);
});

test('names of events are those that the platform offers, and those that came to own destinations', async () => {
  const names = async (customer: string): Promise<readonly EventName[]> =>
    (await (await openedBy(customer))('/event-names')).json<Page<EventName>>().items;
  const at = new Date(atMs).toISOString();
  const seen = (destination: string) => ({ at, messageId: `m-${destination}`, destination });
  const offered = { type: 'track', name: 'Event of acme-mail', example: { event: 'made up' } };
  assert.deepEqual(await names('acme'), [
    { ...offered, seen: seen('acme-mail') },
    { type: 'track', name: 'Event of acme-crm', seen: seen('acme-crm') },
  ]);
  assert.deepEqual(await names('nobody'), [offered]);
});

test('a destination that leaves the customer is gone from their pages at once', async () => {
  const [acme, other] = [await openedBy('acme'), await openedBy('other')];
  assert.equal((await acme('/destinations/acme-mail')).statusCode, 200);
  customers.set('acme-mail', 'other');
  assert.equal((await acme('/destinations/acme-mail')).statusCode, 403);
  assert.equal((await acme('/destinations')).json<DestinationList>().items.length, 1);
  assert.equal((await other('/destinations/acme-mail')).statusCode, 200);
  customers.set('acme-mail', 'acme');
  const { body } = await other('/destinations/acme-mail');
  assert.match(body, /Your link shows the destinations of other only\./);
});

test('whatever is asked, and with whatever parameters, an answer has nothing of another customer in it', async () => {
  const ask = await openedBy('acme');
  const paged = ['cursor', 'limit'];
  const letters = ['reason', 'since', ...paged];
  const paths: readonly (readonly [string, readonly string[]])[] = [
    ['/session', []],
    ['/destinations', ['search', 'state', 'sort', ...paged]],
    ['/destinations/:id', []],
    ['/destinations/:id/series', ['range']],
    ['/destinations/:id/attempts', ['failed', 'url', 'message', 'user', 'after', ...paged]],
    ['/destinations/:id/dead-letters', letters],
    ['/dead-letters', ['destination', ...letters]],
    ['/dead-letters/summary', ['since']],
    ['/events', ['message', 'user', 'destination']],
    ['/event-names', ['customer']],
    ['/events/search', ['user', 'outcome', 'destination', 'since', 'until', ...paged]],
    ['/pipeline', []],
    ['/rejected', ['source', ...letters]],
    ['/audiences', paged],
    ['/configuration', ['search', 'kind', ...paged]],
    ['/notices', paged],
    ['/audit', paged],
  ];
  // What the answers gave, so that places in one list are tried in others.
  const given = new Set<string>();
  const place = fc.nat({ max: 20 }).map((at) => [...given][at] ?? 'none');
  const values: Readonly<Record<string, fc.Arbitrary<string>>> = {
    customer: fc.constantFrom('acme', 'other', 'nobody'),
    destination: fc.constantFrom(...ids),
    message: fc.constantFrom(...ids.map((id) => `m-${id}`)),
    user: fc.constantFrom(...ids.map((id) => `u-${id}`)),
    url: fc.constantFrom(...ids.map((id) => `https://${id}.example/hook`)),
    search: fc.constantFrom('other', 'acme', '-crm', ''),
    since: fc.constant('2026-01-01T00:00:00Z'),
    until: fc.constant('2026-02-01T00:00:00Z'),
    limit: fc.constantFrom('1', '500'),
    cursor: place,
    after: place,
    failed: fc.constant('false'),
    range: fc.constant('3d'),
    sort: fc.constantFrom(...orders),
  };
  const odd = fc.constantFrom('', '%', 'acme-crm,other-crm', '..%2fother-crm', '*', '0');
  const asked = fc.constantFrom(...paths).chain(([path, known]) =>
    fc.tuple(
      fc.constant(path),
      fc.constantFrom(...ids),
      fc
        .subarray([...known])
        .chain((names) =>
          fc.tuple(
            ...names.map((name) =>
              fc
                .oneof({ weight: 9, arbitrary: values[name] ?? odd }, { weight: 1, arbitrary: odd })
                .map((value) => `${name}=${encodeURIComponent(value)}`),
            ),
          ),
        ),
    ),
  );
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(asked, async ([path, id, query]) => {
      const answer = await ask(`${path.replace(':id', id)}?${query.join('&')}`);
      if (answer.statusCode !== 200) {
        assert.ok(answer.statusCode < 500 && answer.statusCode >= 400, answer.body);
        return;
      }
      answered += 1;
      assert.doesNotMatch(answer.body, /other/);
      for (const [, token = ''] of answer.body.matchAll(/"(?:next|seq|place)":"([^"]+)"/g))
        given.add(token);
    }),
    { numRuns: 600 },
  );
  assert.ok(answered > 100, String(answered));
});
