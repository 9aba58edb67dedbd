import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fastify } from 'fastify';
import { Registry } from 'prom-client';
import type { Session } from '../../src/console/api/answers/deployment.ts';
import type { DestinationDetail, Series } from '../../src/console/api/answers/destinations.ts';
import type { DeadLetter, Story } from '../../src/console/api/answers/events.ts';
import { models, type Page } from '../../src/console/api/answers/shapes.ts';
import { askingBy } from '../../src/console/access/may-ask.ts';
import { addDestinationRoutes } from '../../src/console/api/routes/destinations.ts';
import { addEventRoutes } from '../../src/console/api/routes/events.ts';
import { addLetterRoutes } from '../../src/console/api/routes/letters.ts';
import type { RouteDeps } from '../../src/console/api/routes/route.ts';
import { hashOf } from '../../src/console/index/attempt-rows.ts';
import { openIndexDatabase } from '../../src/console/index/database.ts';
import { LastHours } from '../../src/console/index/last-hour.ts';
import { Pasts } from '../../src/console/index/pasts.ts';
import { bucketMs } from '../../src/console/index/schema.ts';
import { Words } from '../../src/console/index/words.ts';
import { ConsoleMetrics } from '../../src/console/metrics.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { Pauses } from '../../src/resources/pauses/pauses.ts';
import { story } from './access/stand.ts';

const minuteMs = 60_000;
const nowMs = Date.UTC(2026, 0, 31, 12);
const beforeMs = nowMs - 42 * minuteMs;
const afterMs = nowMs - 22 * minuteMs;

const customer = { user: 'crm', role: 'customer', destination: 'crm', bodies: true } as const;
const viewer = { user: 'vera', role: 'viewer', bodies: true } as const;

type Ask = <T>(path: string) => Promise<T>;

/** The API with an attempt and a dead letter of each of two destinations that had the id `crm` in turn. */
async function askAs(
  t: TestContext,
  who: Pick<Session, 'user' | 'role' | 'bodies'>,
  told: Story = story,
): Promise<Ask> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-later-'));
  const metrics = new ConsoleMetrics(new Registry());
  const database = await openIndexDatabase(folder, { log: silentLogger, metrics });
  t.after(async () => {
    await database.close();
    await rm(folder, { recursive: true });
  });
  const lastHours = new LastHours();
  for (const [seq, atMs, destination] of [
    [1, beforeMs, 1],
    [2, afterMs, 6],
  ] as const) {
    const bucket = Math.floor(atMs / bucketMs);
    lastHours.add(destination, bucket, 0, 255);
    await database.writer.run(`
      insert into attempts by name select ${seq} as seq, ${atMs} as at_ms, ${destination} as destination, 0 as what,
        255 as latency, 2 as source, 3 as type, 'm${seq}' as message, ${hashOf(`m${seq}`)} as message_hash, 0 as user_hash,
        1 as attempt, 4 as url, 200 as status, 9 as took_ms, '{}' as rest;
      insert into buckets values (${bucket}, ${destination}, 4, 0, 255, 1);
      insert into dead_letters by name select 0 as part, ${seq} as pos, ${atMs} as at_ms, ${destination} as whose,
        5 as reason, '{}' as rest`);
  }
  const words = ['crm', 'shop', 'track', 'https://crm.example/hook', 'expired', 'crm second'];
  const index = {
    current: {
      database,
      lastHours,
      words: new Words(words.map((word, place) => [place + 1, word])),
      countedSeq: 2,
      pasts: new Pasts(),
    },
    asOfMs: () => nowMs,
    isCaughtUp: () => true,
  };
  const resource = {
    kind: 'Destination',
    id: 'crm',
    uid: 'second',
    name: 'CRM',
    enabled: true,
    webhooks: [],
  };
  const live = {
    resources: new Map([['Destination/crm', resource]]),
    unreadable: new Map(),
    pauses: new Pauses(),
    identityOf: (id: string) => (id === 'crm' ? resource : undefined),
    statuses: () => [],
    asOfMs: () => nowMs,
  };
  const deps = {
    index,
    live,
    clock: { now: () => nowMs },
    audit: { tellSeldom: () => undefined },
    explain: () =>
      Promise.resolve({
        story: told,
        bodies: [
          { id: 'crm', body: 'of the first' },
          { id: 'crm', uid: 'second', body: 'of the second' },
        ],
      }),
  } as unknown as RouteDeps;
  const api = fastify({ ajv: { customOptions: { coerceTypes: true } } });
  api.setSerializerCompiler(() => (data) => JSON.stringify(data));
  for (const schema of models.schemas()) api.addSchema(schema);
  api.decorateRequest('session', null);
  api.decorateRequest('asking', null);
  api.addHook('onRequest', (request, _reply, done) => {
    request.session = { csrf: '', isOpen: false, ...who };
    request.asking = askingBy(request.session, () => new Set());
    done();
  });
  addDestinationRoutes(api, deps);
  addLetterRoutes(api, deps);
  addEventRoutes(api, deps);
  t.after(() => api.close());
  return async <T>(path: string) => {
    const answer = await api.inject(path);
    assert.equal(answer.statusCode, 200, answer.body);
    return answer.json<T>();
  };
}

async function countsOf(ask: Ask): Promise<Readonly<Record<string, number>>> {
  const path = '/destinations/crm';
  const itemsOf = async (list: string): Promise<number> =>
    (await ask<Page<unknown>>(`${path}/${list}`)).items.length;
  const deliveredIn = async (range: string): Promise<number> => {
    const { points } = await ask<Series>(`${path}/series?range=${range}`);
    return points.reduce((sum, { delivered }) => sum + delivered, 0);
  };
  const { deadLetters, lastHour } = await ask<DestinationDetail>(path);
  return {
    attempts: await itemsOf('attempts'),
    letters: await itemsOf('dead-letters'),
    lettersSince: await itemsOf('dead-letters?since=2026-01-01T00:00:00.000Z'),
    '1h': await deliveredIn('1h'),
    '24h': await deliveredIn('24h'),
    '3d': await deliveredIn('3d'),
    deadLetters,
    lastHour: lastHour.points.reduce((sum, [delivered]) => sum + delivered, 0),
  };
}

test('a destination shows nothing of an earlier one of its id, and staff finds what was given up of both', async (t) => {
  for (const who of [customer, viewer]) {
    const ask = await askAs(t, who);
    const counts = await countsOf(ask);
    assert.deepEqual([...new Set(Object.values(counts))], [1], JSON.stringify(counts));
    for (const [query, found] of [
      ['message=m1', 0],
      ['message=m2', 1],
      ['after=0', 1],
      ['failed=true', 0],
    ] as const) {
      const { items } = await ask<Page<unknown>>(`/destinations/crm/attempts?${query}`);
      assert.equal(items.length, found, query);
    }
  }
  const asViewer = await askAs(t, viewer);
  for (const list of ['/dead-letters', '/dead-letters?destination=crm']) {
    const { items } = await asViewer<Page<DeadLetter>>(list);
    assert.deepEqual(
      items.map(({ destination }) => destination),
      ['crm', 'crm'],
    );
  }
});

test('an event is shown to a customer as far as it was for their destination, whenever its call came again', async (t) => {
  const [crm] = story.destinations;
  assert.ok(crm !== undefined);
  const told = { ...story, destinations: [crm, { ...crm, uid: 'second' }] };
  const { destinations, copies } = await (
    await askAs(t, customer, told)
  )<Story>('/events?message=m1');
  assert.deepEqual(
    destinations.map(({ uid }) => uid),
    ['second'],
  );
  assert.deepEqual(
    copies?.map(({ body }) => body),
    ['of the second'],
  );
  const ofStaff = await (await askAs(t, viewer, told))<Story>('/events?message=m1');
  assert.equal(ofStaff.destinations.length, 2);
});
