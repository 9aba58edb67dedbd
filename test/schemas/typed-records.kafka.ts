import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import confluent from '@kafkajs/confluent-schema-registry';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { withAdmin } from '../../src/kafka/admin.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import type { IncomingRecord, OutgoingRecord } from '../../src/kafka/record.ts';
import type { Role } from '../../src/ops/role.ts';
import { startConfig } from '../../src/resources/config/config-store.ts';
import type { Config } from '../../src/resources/config/config.ts';
import { startRouter } from '../../src/router/router.ts';
import { sentAgain, readRejected } from '../../src/dead-letter/rejected.ts';
import { eventually } from '../harness/eventually.ts';
import { startFaultyRegistry, type FaultyRegistry } from '../harness/registry.ts';
import { testDeployment, type TestDeployment } from '../resources/deployment.ts';
import { exampleDestination, exampleKeys, exampleSource } from '../resources/examples.ts';

let deployment: TestDeployment;
let config: Config;
/** Before a real one where SCHEMA_REGISTRY_URL names it. */
let registry: FaultyRegistry;
let foreign: confluent.SchemaRegistry;
let router: Role;
let metrics: Registry;
const logged: Record<string, unknown>[] = [];

before(async () => {
  registry = await startFaultyRegistry();
  foreign = new confluent.SchemaRegistry({ host: registry.url });
  deployment = await testDeployment();
  await deployment.apply([exampleSource(), exampleDestination()]);
  config = await startConfig({ ...deployment, secretKeys: exampleKeys });
  router = await start();
});

after(async () => {
  await router.stop(5_000);
  await config.stop();
  await deployment.stop();
  await registry.stop();
});

/** The metrics are those of the last one. */
async function start(): Promise<Role> {
  metrics = new Registry();
  const access = { url: registry.url };
  return startRouter({
    suppressed: new Map(),
    ...deployment,
    config,
    metrics,
    dedupeWindowMs: 600_000,
    log: pino({ base: null }, { write: (line) => logged.push(JSON.parse(line) as never) }),
    registry: () => access,
  });
}

/** Nobody else's, on a registry that others may use. */
const namespace = `t${randomBytes(5).toString('hex')}`;
const fields = ['type', 'messageId', 'userId', 'writeKey'];
const values = { type: 'identify', userId: 'u1', writeKey: 'wk_shop' };

async function schemaFor(name: string): Promise<number> {
  const { id } = await foreign.register({
    type: 'record',
    name,
    namespace,
    fields: fields.map((field) => ({ name: field, type: 'string' })),
  });
  return id;
}

async function typed(id: number, messageId: string, partition = 0): Promise<OutgoingRecord> {
  return at(partition, await foreign.encode(id, { ...values, messageId }));
}

function json(messageId: string, partition: number): OutgoingRecord {
  return at(partition, Buffer.from(JSON.stringify({ ...values, messageId })));
}

function at(partition: number, value: Buffer): OutgoingRecord {
  return { topic: deployment.topology.topics.ingest, partition, key: 'u1', value };
}

async function allIn(topic: string): Promise<IncomingRecord[]> {
  const ranges = await withAdmin(deployment.kafka, (admin) => admin.offsets(topic));
  const records: IncomingRecord[] = [];
  for await (const record of readRange(deployment.kafka, { topic, ranges })) records.push(record);
  return records;
}

async function delivered(): Promise<readonly string[]> {
  const records = await allIn(deployment.topology.topics.delivery);
  return records.map(
    ({ headers }) => /"m":"([^"]*)"/.exec(String(headers['postrider']))?.[1] ?? '',
  );
}

async function metric(name: string): Promise<number> {
  const found = await metrics.getSingleMetric(name)?.get();
  return found?.values[0]?.value ?? NaN;
}

test('typed records and JSON in one topic are routed alike, and a schema is fetched once', async () => {
  const id = await schemaFor('Mixed');
  const before = registry.requests.length;
  const records = [await typed(id, 'avro-1'), json('json-1', 0), await typed(id, 'avro-2')];
  await deployment.producer.send([...records, await typed(id, 'avro-3', 1)]);
  await eventually(async () => {
    const ids = await delivered();
    for (const each of ['avro-1', 'json-1', 'avro-2', 'avro-3'])
      assert.ok(ids.includes(each), each);
  });
  const asked = registry.requests.slice(before).filter((each) => each === `GET /schemas/ids/${id}`);
  assert.equal(asked.length, 1);
});

test('while the registry is away its records wait, JSON of other partitions goes on, and nothing is rejected', async () => {
  const id = await schemaFor('Away');
  const waiting = await typed(id, 'waits', 0);
  registry.failWith(503);
  await deployment.producer.send([waiting, json('behind', 0), json('elsewhere', 1)]);
  await eventually(async () => {
    assert.ok((await delivered()).includes('elsewhere'));
    assert.equal(await metric('postrider_router_stalled'), 2);
    assert.ok((await metric('postrider_router_registry_failures_total')) > 0);
  });
  assert.ok(!(await delivered()).includes('behind'));
  registry.failWith(undefined);
  await eventually(async () => {
    const ids = await delivered();
    assert.ok(ids.indexOf('waits') >= 0 && ids.indexOf('waits') < ids.indexOf('behind'));
  });
  assert.equal(await metric('postrider_router_stalled'), 0);
  assert.equal((await allIn(deployment.topology.topics.ingestRejected)).length, 0);
});

test('a registry that has just started loses no record: it is asked until it says that it has read all', async () => {
  const id = await schemaFor('Starting');
  const early = await typed(id, 'early', 0);
  registry.forget(id);
  registry.ready(false);
  const before = registry.requests.length;
  await deployment.producer.send([early, json('behind-early', 0)]);
  await eventually(() => {
    const asked = registry.requests.slice(before).filter((each) => each === 'GET /_health');
    assert.ok(asked.length > 1);
  });
  registry.ready(true);
  registry.forget();
  await eventually(async () => {
    const ids = await delivered();
    assert.ok(ids.indexOf('early') >= 0 && ids.indexOf('early') < ids.indexOf('behind-early'));
  });
  assert.equal((await allIn(deployment.topology.topics.ingestRejected)).length, 0);
  const line = logged.findLast(({ schemaId }) => schemaId === id);
  const { topic, partition, offset } = line ?? assert.fail();
  const place = { topic: deployment.topology.topics.ingest, partition: 0 };
  const there = await withAdmin(deployment.kafka, (admin) => admin.offsets(place.topic));
  const end = there.find((range) => range.partition === 0)?.end;
  assert.deepEqual({ topic, partition, offset }, { ...place, offset: (end ?? 0) - 2 });
});

test('an unknown schema rejects its record untouched; once it is known, sent again it is routed', async () => {
  const { topology } = deployment;
  const id = await schemaFor('Later');
  const later = await typed(id, 'later', 1);
  registry.forget(id);
  await deployment.producer.send([later, json('not-behind-for-long', 1)]);
  const record = await eventually(async () => {
    const found = (await allIn(topology.topics.ingestRejected)).at(-1);
    assert.equal(String(found?.headers['reason']), 'unknown-schema');
    return found ?? assert.fail();
  });
  assert.deepEqual(record.value, later.value);
  await eventually(async () => {
    assert.ok((await delivered()).includes('not-behind-for-long'));
  });
  registry.forget();
  // Another router, for which the id is not unknown yet.
  await router.stop(5_000);
  router = await start();
  await deployment.producer.send([sentAgain(readRejected(record), topology)]);
  await eventually(async () => {
    assert.ok((await delivered()).includes('later'));
  });
});

test("an id that nobody has registered is unknown in the registry's own words", async () => {
  const { value } = await typed(await schemaFor('Nobody'), 'nobody');
  const bytes = Buffer.from(value as Buffer);
  bytes.writeUInt32BE(0x7fffffff, 1);
  await deployment.producer.send([at(0, bytes)]);
  await eventually(async () => {
    const found = (await allIn(deployment.topology.topics.ingestRejected)).at(-1);
    assert.deepEqual(found?.value, bytes);
    assert.equal(String(found.headers['reason']), 'unknown-schema');
  });
});

test('bytes that do not fit their schema are rejected with the reason', async () => {
  const { value } = await typed(await schemaFor('Fit'), 'cut');
  const cut = (value as Buffer).subarray(0, 12);
  await deployment.producer.send([at(0, cut)]);
  await eventually(async () => {
    const found = (await allIn(deployment.topology.topics.ingestRejected)).at(-1);
    assert.equal(String(found?.headers['reason']), 'undecodable');
    assert.deepEqual(found?.value, cut);
  });
});

test('a router that stops does not wait for the registry; the next one reads what it left', async () => {
  const id = await schemaFor('Left');
  const records = [await typed(id, 'left', 0), json('left-behind', 0)];
  registry.failWith(503);
  await deployment.producer.send(records);
  await eventually(async () => {
    assert.equal(await metric('postrider_router_stalled'), 2);
  });
  const graceMs = 120_000;
  const graceOver = delay(graceMs, 'the grace period is over', { ref: false });
  const stopped = router.stop(graceMs).then(() => 'stopped');
  assert.equal(await Promise.race([stopped, graceOver]), 'stopped');

  registry.failWith(undefined);
  router = await start();
  await eventually(async () => {
    const ids = await delivered();
    assert.ok(ids.includes('left') && ids.includes('left-behind'));
  });
});
