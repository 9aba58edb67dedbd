import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { countEvents } from '../../src/cli/resources/waiting.ts';
import { encodeBundleHeader } from '../../src/delivery/bundle/format.ts';
import { encodeAudienceRoute, writeKeyHeader } from '../../src/event/headers.ts';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import { encodeCommitMetadata } from '../../src/kafka/consume/commit-metadata.ts';
import { createProducer, type Producer } from '../../src/kafka/produce/producer.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { createTopology } from '../../src/topology.ts';
import { install, type Ended, type Installation } from '../harness/postrider.ts';

/** What waits for resources that are deleted, and who is asked. No role runs: nothing is worked off. */

let postrider: Installation;
let kafka: KafkaClient;
let producer: Producer;
let prefix: string;

const destination = { kind: 'Destination', webhooks: [{ url: 'https://e.test' }] };
const shop = { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk-1', 'wk-2'] };
const app = { kind: 'Source', id: 'app', name: 'App', writeKeys: ['wk-app'] };
const crm = { ...destination, id: 'crm', name: 'CRM', sources: ['shop'] };
const erp = { ...destination, id: 'erp', name: 'ERP', sources: ['shop'] };
const big = { ...destination, id: 'big', name: 'Big', sources: ['shop'], topic: 'dedicated' };
const all = [shop, app, crm, erp, big];

before(async () => {
  postrider = await install({ TOPIC_PARTITIONS: '1' });
  const { KAFKA_BROKERS: brokers = '', TOPIC_PREFIX = '' } = postrider.environment;
  prefix = TOPIC_PREFIX;
  kafka = createKafka({ brokers: brokers.split(','), clientId: 'test' }, silentLogger);
  producer = await createProducer(kafka, { log: silentLogger });
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  assert.equal((await apply(all)).code, 0);
});

after(() => producer.close(5_000));

function apply(resources: readonly object[], ...args: readonly string[]): Promise<Ended> {
  return postrider.run(['apply', '-f', '-', ...args], { stdin: JSON.stringify(resources) });
}

/** Without a terminal, for which nothing is asked. */
function remove(...args: readonly string[]): Promise<Ended> {
  return postrider.run(['delete', ...args]);
}

async function removeOnTerminal(answer: string, ...args: readonly string[]): Promise<Ended> {
  const env = { NODE_OPTIONS: '--import data:text/javascript,process.stdin.isTTY=true' };
  const asked = postrider.begin(['delete', ...args], env);
  asked.stdin.end(answer);
  return asked.ended;
}

async function stored(kind: string): Promise<string> {
  const { stdout } = await postrider.run(['get', kind, '-o', 'json']);
  return (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id).join(' ');
}

function event(topic: string, destinationId: string, user: string): OutgoingRecord {
  const envelope = encodeEnvelope({
    destinationId,
    sourceId: 'shop',
    messageId: `m-${user}`,
    type: 'track',
    configOffset: 0,
    appendTimeMs: 1_000,
    attempts: 0,
  });
  const key = deliveryKey(destinationId, user);
  return { topic: `${prefix}${topic}`, key, value: '{}', headers: { [envelopeHeader]: envelope } };
}

function bundle(topic: string, destinationId: string, events: number): OutgoingRecord {
  const header = encodeBundleHeader({ destinationId, events, dueMs: 1_000, oldestMs: 1_000 });
  return {
    topic: `${prefix}${topic}`,
    key: deliveryKey(destinationId, 'u'),
    value: 'packed',
    headers: { [envelopeHeader]: header },
  };
}

function call(topic: string, value: object | Buffer, headers: OutgoingRecord['headers'] = {}) {
  const bytes = Buffer.isBuffer(value) ? value : JSON.stringify({ type: 'track', ...value });
  return { topic: `${prefix}${topic}`, key: 'u', value: bytes, headers };
}

/** As a worker does that has worked so far. There has to be a record in the topic. */
async function commit(group: string, name: string, offset: number, metadata = ''): Promise<void> {
  const topic = `${prefix}${name}`;
  const consumer = kafka.consumer({ groupId: `${prefix}${group}` });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  // kafkajs loses commits, and cannot be stopped, before it has come to read.
  const reads = new Promise<void>((resolve) => {
    void consumer.run({
      autoCommit: false,
      eachMessage: () => {
        resolve();
        return Promise.resolve();
      },
    });
  });
  await reads;
  await consumer.commitOffsets([{ topic, partition: 0, offset: String(offset), metadata }]);
  await consumer.disconnect();
}

test('a deletion says how many events wait, in delivery and retry topics, and asks', async () => {
  await producer.send([
    event('delivery', 'crm', 'finished'),
    event('delivery', 'crm', 'a'),
    event('delivery', 'erp', 'a'),
    event('delivery', 'crm', 'finished ahead'),
    event('delivery', 'crm', 'b'),
    bundle('retry.500ms', 'crm', 40),
    bundle('retry.500ms', 'erp', 200),
    event('retry.1s', 'crm', 'c'),
  ]);
  const ahead = { upTo: 4, unfinished: new Set([1, 2]) };
  await commit(
    'delivery',
    'delivery',
    1,
    encodeCommitMetadata(1, { epoch: 0, ahead, topicId: undefined }),
  );

  const says = 'Destination crm: 43 events wait for it and become dead letters\n';
  const alone = await remove('destination', 'crm');
  assert.deepEqual(
    [alone.code, alone.stdout, alone.stderr],
    [
      2,
      '',
      `${says}postrider: this deletes Destination crm: to confirm without a terminal, add --yes\n`,
    ],
  );
  for (const answer of ['n\n', '']) {
    const { code, stdout, stderr } = await removeOnTerminal(answer, 'destination', 'crm');
    assert.deepEqual([code, stdout], [1, '']);
    assert.ok(stderr.includes(says), stderr);
    assert.match(
      stderr,
      /this deletes Destination crm\. Continue\? \[y\/N\] [^]*not confirmed, so nothing was done\n$/,
    );
  }
  assert.equal(await stored('destination'), 'big crm erp');
  const agreed = await removeOnTerminal('y\n', 'destination', 'crm');
  assert.deepEqual([agreed.code, agreed.stdout], [0, 'delete Destination crm\n'], agreed.stderr);
  const { code, stderr } = await remove('destination', 'crm', '--yes');
  assert.deepEqual([code, stderr], [1, 'postrider: there is no Destination crm\n']);
  assert.equal((await apply(all)).code, 0);
});

test('of a destination with a topic of its own, that topic counts', async () => {
  await producer.send([
    event('delivery.big', 'big', 'a'),
    event('delivery.big', 'big', 'b'),
    event('delivery.big', 'big', 'c'),
  ]);
  await commit('delivery.big', 'delivery.big', 2);
  const { code, stderr } = await remove('destination', 'big', '--yes');
  assert.deepEqual(
    [code, stderr],
    [0, 'Destination big: 1 event waits for it and becomes a dead letter\n'],
  );
  assert.equal((await apply(all)).code, 0);
});

test('apply --prune says and asks for all that it deletes, before it writes anything', async () => {
  const rest = [{ ...shop, name: 'New' }, app, erp];
  const refused = await apply(rest, '--prune');
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^Destination crm: 43 events wait for it/m);
  assert.match(refused.stderr, /^Destination big: 1 event waits for it/m);
  assert.match(
    refused.stderr,
    /this deletes Destination (crm|big), Destination (crm|big): .*--yes/,
  );
  const { stdout } = await postrider.run(['get', 'source', 'shop', '-o', 'json']);
  assert.match(stdout, /"name": "Shop"/);

  const pruned = await apply(rest, '--prune', '--yes');
  assert.equal(pruned.code, 0, pruned.stderr);
  assert.match(pruned.stdout, /^update Source shop: name$/m);
  assert.match(pruned.stdout, /^delete Destination crm$/m);
  assert.match(pruned.stdout, /^1 updated, 2 deleted, 2 unchanged$/m);
  const again = await apply(rest, '--prune');
  assert.deepEqual([again.code, again.stderr], [0, '']);
  assert.equal((await apply(all)).code, 0);
});

test('of a source, the calls count that the router has not read', async () => {
  const own = (await apply([shop, app], '--prune', '--yes')).code;
  assert.equal(own, 0);
  await producer.send([
    call('ingest', { writeKey: 'wk-1', userId: 'u', event: 'routed' }),
    call('ingest', { writeKey: 'wk-1', userId: 'u', event: 'E' }),
    call('ingest', { userId: 'u', event: 'E' }, { [writeKeyHeader]: 'wk-2' }),
    call('ingest', { writeKey: 'wk-1', userId: 'u', event: 'E' }, { [writeKeyHeader]: 'wk-app' }),
    call(
      'ingest.audience',
      { type: 'identify', userId: 'u' },
      encodeAudienceRoute({ sourceId: 'shop', destinationIds: undefined }),
    ),
  ]);
  await commit('router', 'ingest', 1);
  const says = (text: string): string =>
    `Source shop: ${text} of its calls wait to be routed and are rejected\n`;
  assert.ok((await remove('source', 'shop')).stderr.startsWith(says('3')));

  // Whose it is, only its schema can tell.
  await producer.send([call('ingest', Buffer.from([0, 0, 0, 0, 7, 2, 3]))]);
  const { code, stderr } = await remove('source', 'shop', '--yes');
  assert.deepEqual([code, stderr], [0, says('at least 3')]);
});

test('what cannot be counted in time is told as so many at least', async () => {
  const topology = createTopology({
    prefix,
    partitions: 1,
    replicationFactor: 1,
    retryTiersMs: [500, 1_000],
    extraIngestTopics: [],
  });
  const untilMs = systemClock.steadyNow();
  const options = { kafka, topology, clock: systemClock, untilMs, onProgress: () => undefined };
  const counted = await countEvents(options, ['crm']);
  assert.deepEqual(counted, new Map([['crm', { count: 0, isAll: false }]]));
});

test('what is missing from the files is not deleted where that is more than anybody expects', async () => {
  const many = Array.from({ length: 6 }, (_, n) => ({
    ...app,
    id: `app-${n}`,
    writeKeys: [`wk-app-${n}`],
  }));
  assert.equal((await apply(many)).code, 0);
  const refused = await apply([shop], '--prune', '--yes');
  assert.equal(refused.code, 2);
  const [, asked = ''] = /would delete .* add --max-deleted (\d+)$/m.exec(refused.stderr) ?? [];
  assert.match(await stored('source'), /app-5/);
  const done = await apply([shop], '--prune', '--yes', '--max-deleted', asked);
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, new RegExp(`\\b${asked} deleted$`, 'm'));
});
