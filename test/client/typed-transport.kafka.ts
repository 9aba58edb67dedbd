import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { Analytics, type AnalyticsOptions } from '../../src/client/index.ts';
import { withAdmin } from '../../src/kafka/admin.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import type { Role } from '../../src/ops/role.ts';
import { startConfig } from '../../src/resources/config/config-store.ts';
import type { Config } from '../../src/resources/config/config.ts';
import { startRouter } from '../../src/router/router.ts';
import { ingestSubject, registerSchema } from '../../src/schemas/publish.ts';
import { RegistryClient } from '../../src/schemas/registry-client.ts';
import { eventually } from '../harness/eventually.ts';
import { startFaultyRegistry, type FaultyRegistry } from '../harness/registry.ts';
import { testDeployment, type TestDeployment } from '../resources/deployment.ts';
import { exampleDestination, exampleKeys, exampleSource } from '../resources/examples.ts';

let deployment: TestDeployment;
let config: Config;
/** Before a real one where SCHEMA_REGISTRY_URL names it. */
let registry: FaultyRegistry;
let router: Role;
let topic: string;
let subject: string;

before(async () => {
  registry = await startFaultyRegistry();
  deployment = await testDeployment();
  topic = deployment.topology.topics.ingest;
  subject = ingestSubject(topic);
  await deployment.apply([exampleSource(), exampleDestination()]);
  config = await startConfig({ ...deployment, secretKeys: exampleKeys });
  const access = { url: registry.url };
  router = await startRouter({
    suppressed: new Map(),
    ...deployment,
    config,
    metrics: new Registry(),
    dedupeWindowMs: 600_000,
    log: pino({ level: 'silent' }),
    registry: () => access,
  });
});

beforeEach(() => {
  registry.failWith(undefined);
  registry.cut(undefined);
});

after(async () => {
  await router.stop(5_000);
  await config.stop();
  await deployment.stop();
  await registry.stop();
});

function connect(options: AnalyticsOptions = {}): Analytics {
  const { brokers } = deployment;
  const kafka = { brokers, topic, registry: { url: registry.url } };
  return new Analytics('wk_shop', { transport: 'kafka', kafka, ...options });
}

async function allIn(name: string): Promise<IncomingRecord[]> {
  const ranges = await withAdmin(deployment.kafka, (admin) => admin.offsets(name));
  const records: IncomingRecord[] = [];
  for await (const record of readRange(deployment.kafka, { topic: name, ranges })) {
    records.push(record);
  }
  return records;
}

/** What goes to the destination for a call. */
async function bodyOf(messageId: string): Promise<Record<string, unknown>> {
  return eventually(async () => {
    const records = await allIn(deployment.topology.topics.delivery);
    const found = records.find(({ headers }) =>
      String(headers['postrider']).includes(`"m":"${messageId}"`),
    );
    assert.ok(found);
    return JSON.parse(String(found.value)) as Record<string, unknown>;
  });
}

test('while the registry knows no schema calls wait; once it is published they are written with it', async () => {
  const analytics = connect({ flushAt: 1 });
  const before = registry.requests.length;
  const id = analytics.track({
    userId: 'u1',
    event: 'Order Completed',
    timestamp: '2026-11-20T18:59:40.123Z',
    properties: { total: 39.95, quantity: 2, items: [{ sku: '85123A' }] },
    context: { ip: '203.0.113.7' },
  });
  const path = `GET /subjects/${subject}/versions/latest`;
  await eventually(() => {
    const asked = registry.requests.slice(before).filter((each) => each === path);
    assert.ok(asked.length >= 2);
  });
  assert.equal((await allIn(topic)).length, 0);
  const published = await registerSchema(new RegistryClient({ url: registry.url }), subject);
  await analytics.close();
  const [record] = await allIn(topic);
  assert.equal(record?.value?.readUInt32BE(1), published.id);
  const { context, ...body } = await bodyOf(id);
  assert.deepEqual(body, {
    version: 1,
    type: 'track',
    userId: 'u1',
    event: 'Order Completed',
    properties: { total: 39.95, quantity: 2, items: [{ sku: '85123A' }] },
    timestamp: '2026-11-20T18:59:40.123Z',
  });
  assert.equal((context as { readonly ip: string }).ip, '203.0.113.7');
});

test('a call of each type becomes the event that its JSON becomes', async () => {
  const common = { userId: 'u', timestamp: '2026-11-20T18:59:40.123Z' };
  const send = async (analytics: Analytics): Promise<Record<string, unknown>[]> => {
    const ids = [
      analytics.identify({ ...common, traits: { plan: 'pro', seats: 3 } }),
      analytics.track({ ...common, event: 'E', properties: { a: [1, 'b', null], b: { c: 1 } } }),
      analytics.page({ ...common, name: 'Pricing', traits: { path: '/pricing' } }),
      analytics.screen({ ...common, name: 'Home', category: 'App' }),
      analytics.group({ ...common, groupId: 'g', traits: { size: 1.5 } }),
      analytics.alias({ ...common, previousId: 'p' }),
    ];
    await analytics.close();
    return Promise.all(ids.map((id) => bodyOf(id)));
  };
  const { brokers } = deployment;
  assert.deepEqual(await send(connect()), await send(connect({ kafka: { brokers, topic } })));
});

test('a schema is fetched once, and a registry that is away then holds nothing up', async () => {
  const analytics = connect();
  analytics.identify({ userId: 'u' });
  await analytics.flush();
  registry.failWith(503);
  const before = registry.requests.length;
  const id = analytics.identify({ userId: 'u' });
  await analytics.close();
  registry.failWith(undefined);
  await bodyOf(id);
  assert.ok(!registry.requests.slice(before).some((each) => each.includes(subject)));
});

test('a call that does not fit the schema is refused alone', async () => {
  const lost: string[] = [];
  const analytics = connect({ onError: ({ code, message }) => lost.push(code, message) });
  analytics.track({ userId: 'u', event: 'E', properties: [1] });
  const id = analytics.track({ userId: 'u', event: 'E' });
  await assert.rejects(analytics.close(), { lost: { refused: 1 } });
  assert.equal(lost[0], 'refused');
  assert.match(lost[1] ?? '', /cannot be written with the registry's schema: .*properties does/);
  await bodyOf(id);
});

test(
  'closing in time while the registry answers nothing tells why',
  { timeout: 20_000 },
  async () => {
    registry.cut(`/subjects/${subject}/versions/latest`);
    const messages: string[] = [];
    const analytics = connect({ onError: ({ message }) => messages.push(message) });
    analytics.identify({ userId: 'u' });
    await assert.rejects(analytics.close({ timeoutMs: 6_000 }), { lost: { 'not-delivered': 1 } });
    assert.match(
      messages.join(),
      /no schema of \S+ from the schema registry at .*: no answer in 5 s/,
    );
  },
);

test('a login and a subject of its own', async () => {
  registry.require('me', 'word');
  const admin = new RegistryClient({ url: registry.url, username: 'me', password: 'word' });
  await registerSchema(admin, `${topic}.calls`);
  const { brokers } = deployment;
  const login = { url: registry.url, username: 'me', password: 'word', subject: `${topic}.calls` };
  const analytics = connect({ kafka: { brokers, topic, registry: login } });
  analytics.identify({ userId: 'u' });
  await analytics.close();
});
