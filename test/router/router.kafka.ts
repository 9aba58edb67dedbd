import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Registry } from 'prom-client';
import { decodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { encodeAudienceRoute } from '../../src/event/headers.ts';
import { ensureTopics, withAdmin, type TopicSpec } from '../../src/kafka/admin.ts';
import { openTransactions } from '../../src/kafka/produce/transactions.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import type { IncomingRecord, OutgoingRecord } from '../../src/kafka/record.ts';
import type { Role } from '../../src/ops/role.ts';
import { startConfig } from '../../src/resources/config/config-store.ts';
import type { Config } from '../../src/resources/config/config.ts';
import { startRouter } from '../../src/router/router.ts';
import { createTopology } from '../../src/topology.ts';
import { testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { testDeployment, type TestDeployment } from '../resources/deployment.ts';
import { exampleDestination, exampleKeys, exampleSource } from '../resources/examples.ts';

let deployment: TestDeployment;
let config: Config;
let router: Role;
const metrics = new Registry();

const resources = [
  exampleSource(),
  exampleDestination({ id: 'crm' }),
  exampleDestination({ id: 'dwh', topic: 'dedicated' }),
];

before(async () => {
  deployment = await testDeployment();
  await deployment.apply(resources);
  config = await startConfig({ ...deployment, secretKeys: exampleKeys });
  router = await startRouter({
    ...deployment,
    config,
    suppressed: new Map(),
    dedupeWindowMs: 600_000,
    metrics,
  });
  await eventually(() => {
    assert.ok(router.ready());
  });
});

after(async () => {
  await router.stop(5_000);
  await config.stop();
  await deployment.stop();
});

function call(messageId: string, changes: object = {}): OutgoingRecord {
  const value = { type: 'identify', messageId, userId: 'u1', writeKey: 'wk_shop', ...changes };
  return { topic: deployment.topology.topics.ingest, key: 'u1', value: JSON.stringify(value) };
}

async function allIn(topic: string): Promise<IncomingRecord[]> {
  const ranges = await withAdmin(deployment.kafka, (admin) => admin.offsets(topic));
  const records: IncomingRecord[] = [];
  for await (const record of readRange(deployment.kafka, { topic, ranges })) records.push(record);
  return records;
}

async function messageIdsIn(topic: string): Promise<string[]> {
  return (await allIn(topic)).map(({ headers }) => {
    const header = headers[envelopeHeader];
    assert.ok(header);
    return decodeEnvelope(header)?.messageId ?? 'no envelope';
  });
}

async function rejectedAs(marker: string): Promise<IncomingRecord> {
  const records = await allIn(deployment.topology.topics.ingestRejected);
  const found = records.find(({ headers }) => headers['marker']?.toString() === marker);
  assert.ok(found, `${marker} is not rejected yet`);
  return found;
}

test('a call goes to every destination of its source, to a dedicated topic where there is one', async () => {
  await deployment.producer.send([call('fan-out')]);
  const { topology } = deployment;
  await eventually(async () => {
    assert.deepEqual(await messageIdsIn(topology.topics.delivery), ['fan-out']);
    assert.deepEqual(await messageIdsIn(topology.dedicatedTopic('dwh').name), ['fan-out']);
  });
});

test('a bad record is rejected untouched, with its origin, and the next one goes on', async () => {
  const { topics } = deployment.topology;
  const value = Buffer.from([0xff, 0x00]);
  const headers = { marker: 'bad', trace: Buffer.from([1, 2]) };
  await deployment.producer.send([
    { topic: topics.ingest, key: 'u1', value, headers },
    { topic: topics.ingest, key: null, value: null, headers: { marker: 'tombstone' } },
    call('after-bad'),
  ]);
  const rejected = await eventually(() => rejectedAs('bad'));
  assert.deepEqual(rejected.value, value);
  assert.deepEqual(rejected.key, Buffer.from('u1'));
  assert.deepEqual(rejected.headers['trace'], Buffer.from([1, 2]));
  assert.equal(String(rejected.headers['reason']), 'undecodable');
  const origin = String(rejected.headers['postrider-origin']);
  assert.match(origin, new RegExp(`^${topics.ingest.replaceAll('.', '\\.')}:\\d+:\\d+:\\d+$`));
  const tombstone = await eventually(() => rejectedAs('tombstone'));
  assert.equal(tombstone.value, null);
  await eventually(async () => {
    assert.ok((await messageIdsIn(topics.delivery)).includes('after-bad'));
  });
});

test('a call whose source was applied just before it is routed, never rejected', async () => {
  for (let i = 0; i < 5; i += 1) {
    const writeKey = `wk_new_${i}`;
    const keys = Array.from({ length: i + 1 }, (_, n) => `wk_new_${n}`);
    await deployment.apply([
      ...resources.slice(1),
      exampleSource({ writeKeys: ['wk_shop', ...keys] }),
    ]);
    await deployment.producer.send([call(`new-${i}`, { writeKey })]);
  }
  await eventually(async () => {
    const ids = await messageIdsIn(deployment.topology.topics.delivery);
    assert.equal(ids.filter((id) => id.startsWith('new-')).length, 5);
  });
});

test('a call whose write key nobody has is rejected with that reason', async () => {
  await deployment.producer.send([
    { ...call('nobody', { writeKey: 'wk_nobody' }), headers: { marker: 'nobody' } },
  ]);
  const { headers } = await eventually(() => rejectedAs('nobody'));
  assert.equal(String(headers['reason']), 'unknown-write-key');
  assert.match(String(headers['detail']), /wk_nobody/);
});

test('a record of the largest size that ingest takes can be rejected', async () => {
  const value = Buffer.alloc(900 * 1024, 'x');
  const { ingest } = deployment.topology.topics;
  await deployment.producer.send([{ topic: ingest, key: 'u1', value, headers: { marker: 'big' } }]);
  const { headers } = await eventually(() => rejectedAs('big'));
  assert.equal(String(headers['reason']), 'too-large');
});

test('what is routed is committed, and a router that starts again does not route it again', async () => {
  const { topics, groups } = deployment.topology;
  const before = await messageIdsIn(topics.delivery);
  await router.stop(5_000);
  await withAdmin(deployment.kafka, async (admin) => {
    const committed = await admin.committedOffsets(groups.router, [topics.ingest]);
    const ends = (await admin.offsets(topics.ingest)).map(({ end }) => end);
    assert.deepEqual(
      committed.get(topics.ingest)?.map((offset) => Math.max(0, offset)),
      ends,
    );
  });
  router = await startRouter({
    suppressed: new Map(),
    ...deployment,
    config,
    dedupeWindowMs: 600_000,
    metrics: new Registry(),
  });
  await deployment.producer.send([call('after-restart')]);
  await eventually(async () => {
    assert.deepEqual(await messageIdsIn(topics.delivery), [...before, 'after-restart']);
  });
});

test('a call that its client sent again is routed once; after a restart the window starts anew', async () => {
  const { topics } = deployment.topology;
  const routedTimes = async (id: string): Promise<number> =>
    (await messageIdsIn(topics.delivery)).filter((each) => each === id).length;
  // In one batch, and once more when the first is long safe.
  await deployment.producer.send([call('resent'), call('resent')]);
  await deployment.producer.send([call('resent'), call('behind-resent')]);
  await eventually(async () => {
    assert.equal(await routedTimes('behind-resent'), 1);
  });
  assert.equal(await routedTimes('resent'), 1);
  await router.stop(5_000);
  const afterwards = new Registry();
  router = await startRouter({
    suppressed: new Map(),
    ...deployment,
    config,
    dedupeWindowMs: 600_000,
    metrics: afterwards,
  });
  await deployment.producer.send([call('resent'), call('behind-restart'), call('resent')]);
  await eventually(async () => {
    assert.equal(await routedTimes('behind-restart'), 1);
    const text = await afterwards.metrics();
    assert.match(text, /router_calls_total\{outcome="duplicate"\} 1$/m);
    assert.match(text, /^postrider_router_lag_records\{topic="[^"]+ingest"\} 0$/m);
  });
  assert.equal(await routedTimes('resent'), 2);
  assert.match(await afterwards.metrics(), /^postrider_router_remembered_ids 2$/m);
});

test('of what syncs write, only what is committed is routed, and an open transaction holds up no live call', async () => {
  const { topics, prefix } = deployment.topology;
  const headers = encodeAudienceRoute({ sourceId: 'shop', destinationIds: new Set(['crm']) });
  const synced = (messageId: string) => ({
    ...call(messageId, { writeKey: undefined }),
    topic: topics.ingestAudience,
    partition: 0,
    headers,
  });
  const open = deployment.kafka.producer({ transactionalId: `${prefix}a`, idempotent: true });
  await open.connect();
  const transaction = await open.transaction();
  const { topic, ...message } = synced('undecided');
  await transaction.send({ topic, messages: [message] });
  const transactions = await openTransactions(deployment.kafka, `${prefix}b`);
  await transactions.write([synced('behind-undecided')]);
  await deployment.producer.send([call('beside-undecided')]);
  await eventually(async () => {
    assert.ok((await messageIdsIn(topics.delivery)).includes('beside-undecided'));
  });
  assert.equal((await messageIdsIn(topics.delivery)).includes('behind-undecided'), false);
  await transaction.abort();
  await eventually(async () => {
    assert.ok((await messageIdsIn(topics.delivery)).includes('behind-undecided'));
  });
  assert.equal((await messageIdsIn(topics.delivery)).includes('undecided'), false);
  assert.equal(
    (await messageIdsIn(deployment.topology.dedicatedTopic('dwh').name)).includes(
      'behind-undecided',
    ),
    false,
  );
  await Promise.all([open.disconnect(), transactions.close()]);
});

test('what happens is counted', async () => {
  const text = await metrics.metrics();
  assert.match(text, /^postrider_router_calls_total\{outcome="routed"\} [1-9]/m);
  assert.match(text, /^postrider_router_rejected_total\{reason="unknown-write-key"\} 1$/m);
});

test('the start is refused when a topic of another system has timestamps of its producers', async () => {
  const name = `${testPrefix()}web-calls`;
  const spec: TopicSpec = {
    name,
    partitions: 1,
    replicationFactor: 1,
    config: { 'message.timestamp.type': 'CreateTime' },
  };
  await ensureTopics(deployment.kafka, [spec]);
  const topology = createTopology({
    prefix: deployment.topology.prefix,
    partitions: 2,
    replicationFactor: 1,
    retryTiersMs: [1_000],
    extraIngestTopics: [name],
  });
  const start = startRouter({
    suppressed: new Map(),
    ...deployment,
    topology,
    config,
    dedupeWindowMs: 600_000,
    metrics: new Registry(),
  });
  await assert.rejects(start, {
    code: 'topics-differ',
    message: new RegExp(`${name}, named in INGEST_TOPICS, .* CreateTime, should be LogAppendTime`),
  });
});
