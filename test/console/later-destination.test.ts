import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fastify } from 'fastify';
import { Registry } from 'prom-client';
import type {
  DestinationDetail,
  Page,
  Series,
  Session,
  Story,
} from '../../src/console/api/model.ts';
import { addDestinationRoutes } from '../../src/console/api/routes/destinations.ts';
import { addEventRoutes } from '../../src/console/api/routes/events.ts';
import { addLetterRoutes } from '../../src/console/api/routes/letters.ts';
import type { RouteDeps } from '../../src/console/api/routes/route.ts';
import { answerSchemas } from '../../src/console/api/answers/answers.ts';
import { hashOf } from '../../src/console/index/attempt-rows.ts';
import { openIndexDatabase } from '../../src/console/index/database.ts';
import { LastHours } from '../../src/console/index/last-hour.ts';
import { bucketMs } from '../../src/console/index/schema.ts';
import { Words } from '../../src/console/index/words.ts';
import { ConsoleMetrics } from '../../src/console/metrics.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { story } from './access/stand.ts';

const minuteMs = 60_000;
const nowMs = Date.UTC(2026, 0, 31, 12);
/** In the middle of a bucket. */
const endMs = nowMs - 32 * minuteMs;
const beforeMs = endMs - 10 * minuteMs;
const afterMs = endMs + 10 * minuteMs;
const timeOf = (atMs: number): string => new Date(atMs).toISOString();

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
  for (const [seq, atMs] of [
    [1, beforeMs],
    [2, afterMs],
  ] as const) {
    const bucket = Math.floor(atMs / bucketMs);
    lastHours.add(1, bucket, 0, 255);
    await database.writer.run(`
      insert into attempts by name select ${seq} as seq, ${atMs} as at_ms, 1 as destination, 0 as what,
        255 as latency, 2 as source, 3 as type, 'm${seq}' as message, ${hashOf(`m${seq}`)} as message_hash, 0 as user_hash,
        1 as attempt, 4 as url, 200 as status, 9 as took_ms, '{}' as rest;
      insert into buckets values (${bucket}, 1, 4, 0, 255, 1);
      insert into dead_letters by name select 0 as part, ${seq} as pos, ${atMs} as at_ms, 1 as whose,
        5 as reason, '{}' as rest`);
  }
  const words = ['crm', 'shop', 'track', 'https://crm.example/hook', 'expired'];
  const index = {
    current: {
      database,
      lastHours,
      words: new Words(words.map((word, place) => [place + 1, word])),
      countedSeq: 2,
    },
    isCaughtUp: () => true,
  };
  const resource = { kind: 'Destination', id: 'crm', name: 'CRM', enabled: true, webhooks: [] };
  const live = {
    resources: new Map([['Destination/crm', resource]]),
    unreadable: new Map(),
    pauses: {
      get: () => undefined,
      resumedSince: () => undefined,
      endedMs: (id: string) => (id === 'crm' ? endMs : undefined),
    },
    statuses: () => [],
  };
  const deps = {
    index,
    live,
    clock: { now: () => nowMs },
    saidNow: () => ({ workers: [], destinations: new Map() }),
    explain: () => Promise.resolve({ story: told, bodies: new Map([['crm', 'a body']]) }),
  } as unknown as RouteDeps;
  const api = fastify({ ajv: { customOptions: { coerceTypes: true } } });
  api.setSerializerCompiler(() => (data) => JSON.stringify(data));
  for (const schema of answerSchemas()) api.addSchema(schema);
  api.decorateRequest('session', null);
  api.addHook('onRequest', (request, _reply, done) => {
    request.session = { csrf: '', isOpen: false, ...who };
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

test('a customer sees nothing of a former destination of the id, and staff does', async (t) => {
  const asCustomer = await askAs(t, customer);
  const counts = await countsOf(asCustomer);
  assert.deepEqual([...new Set(Object.values(counts))], [1], JSON.stringify(counts));
  for (const [query, found] of [
    ['message=m1', 0],
    ['message=m2', 1],
    ['after=0', 1],
    ['failed=true', 0],
  ] as const) {
    const { items } = await asCustomer<Page<unknown>>(`/destinations/crm/attempts?${query}`);
    assert.equal(items.length, found, query);
  }
  const all = await countsOf(await askAs(t, viewer));
  assert.deepEqual([...new Set(Object.values(all))], [2], JSON.stringify(all));
});

test('an event is shown to a customer where something of it is of their destination', async (t) => {
  const [crm] = story.destinations;
  assert.ok(crm !== undefined);
  const toldAt = (receivedMs: number, ...happenedMs: readonly number[]): Story => ({
    ...story,
    received: story.received.map((each) => ({ ...each, at: timeOf(receivedMs) })),
    destinations: [
      { ...crm, happened: happenedMs.map((atMs) => ({ at: timeOf(atMs), what: 'sent' })) },
    ],
  });
  const shown = async (told: Story, who: typeof customer | typeof viewer): Promise<unknown> =>
    (await (await askAs(t, who, told))<Story>('/events?message=m1')).destinations.map(
      ({ happened }) => happened.length,
    );
  assert.deepEqual(await shown(toldAt(beforeMs, beforeMs), customer), []);
  assert.deepEqual(await shown(toldAt(beforeMs, beforeMs, afterMs), customer), [1]);
  assert.deepEqual(await shown(toldAt(afterMs), customer), [0]);
  assert.deepEqual(await shown(toldAt(beforeMs, beforeMs), viewer), [1]);
});
