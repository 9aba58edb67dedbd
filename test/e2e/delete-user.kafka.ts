import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import kafkajs from 'kafkajs';
import { startReceiver, type Arrival, type Receiver } from '../../src/dev/receiver.ts';
import { withAdmin } from '../../src/kafka/admin.ts';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../src/kafka/produce/producer.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { eventually } from '../harness/eventually.ts';
import { withRawAdmin } from '../kafka/topics.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

const arrivals: (Arrival & { readonly atMs: number })[] = [];
/** By message id; 200 where there is none. */
const statuses = new Map<string, number>();
/** Of the next ones; 200 after them. */
const notificationStatuses: number[] = [];
let receiver: Receiver;
let postrider: Installation;
let kafka: KafkaClient;
let producer: Producer;
let prefix: string;
const roles = new Map<'router' | 'delivery', RunningRole>();

async function run(args: readonly string[], stdin: string = ''): Promise<string> {
  const { code, stdout, stderr } = await postrider.run(args, { stdin });
  assert.equal(code, 0, stderr);
  return stdout;
}

async function apply(...resources: readonly object[]): Promise<void> {
  await run(['apply', '-f', '-'], JSON.stringify(resources));
}

async function start(role: 'router' | 'delivery'): Promise<void> {
  roles.set(role, await postrider.start(role));
}

async function stop(role: 'router' | 'delivery'): Promise<void> {
  assert.equal(await roles.get(role)?.kill('SIGTERM'), 0);
}

interface SentCall {
  readonly type: string;
  readonly messageId: string;
  readonly userId: string;
  readonly previousId?: string;
}

async function produce(writeKey: string, ...calls: readonly SentCall[]): Promise<void> {
  await producer.send(
    calls.map((call) => ({
      topic: `${prefix}ingest`,
      key: call.userId,
      value: JSON.stringify({ ...call, event: 'E' }),
      headers: { 'write-key': writeKey },
    })),
  );
}

function track(messageId: string, userId: string): SentCall {
  return { type: 'track', messageId, userId };
}

function arrivedIds(): string[] {
  return arrivals.map(({ headers }) => String(headers['idempotency-key']));
}

function arrivedDeletes(userId: string): typeof arrivals {
  return arrivals.filter(({ body }) => {
    const json = JSON.parse(body.toString()) as { type: string; userId?: string };
    return json.type === 'delete' && json.userId === userId;
  });
}

async function metric(role: 'router' | 'delivery', name: string): Promise<number> {
  const text = await (await fetch(`${roles.get(role)?.url ?? ''}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.split(' ')[1]), 0);
}

async function dropped(count: number): Promise<void> {
  await eventually(async () => {
    assert.equal(await metric('delivery', 'postrider_fenced_events_total'), count);
  });
}

const shop = { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk_shop'] };
const app = { kind: 'Source', id: 'app', name: 'App', writeKeys: ['wk_app'] };

before(async () => {
  receiver = await startReceiver({
    port: 0,
    sharedSecret: 'teehee',
    answer: (arrival) => {
      arrivals.push({ ...arrival, atMs: Date.now() });
      const id = String(arrival.headers['idempotency-key']);
      const status = id.startsWith('delete-') ? notificationStatuses.shift() : statuses.get(id);
      return { status: status ?? 200 };
    },
  });
  // Workers may send for 5.5 s after a deletion: the second tier is the shortest that is longer.
  postrider = await install({
    RETRY_TIERS: '500ms,6s,10s',
    DELIVERY_TIMEOUT: '500ms',
  });
  prefix = postrider.environment['TOPIC_PREFIX'] ?? '';
  const brokers = (postrider.environment['KAFKA_BROKERS'] ?? '').split(',');
  kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
  producer = await createProducer(kafka, { log: silentLogger });
  await run(['topics', '--create']);
  await apply(shop, app, {
    kind: 'Destination',
    id: 'crm',
    name: 'CRM',
    sources: ['shop', 'app'],
    events: ['track', 'alias'],
    webhooks: [{ url: receiver.url }],
    sharedSecret: 'teehee',
    idempotencyHeader: 'Idempotency-Key',
  });
  await Promise.all([start('router'), start('delivery')]);
});

after(async () => {
  await Promise.all([...roles.values()].map((role) => role.kill('SIGKILL')));
  await producer.close(5_000);
  await receiver.close();
});

async function deadLetters(): Promise<string[]> {
  const listed = await run(['dead-letters', 'list', '-o', 'json']);
  return (JSON.parse(listed) as { messageId: string }[]).map(({ messageId }) => messageId);
}

async function arrived(...messageIds: readonly string[]): Promise<void> {
  await eventually(() => {
    for (const id of messageIds) assert.ok(arrivedIds().includes(id), `${id} has not arrived`);
  });
}

test('what a deleted user did before never arrives after the notification, wherever it waited', async () => {
  const gone = 'user:1';
  // A retry, a dead letter, and a call that nobody can route yet.
  statuses.set('retried', 503).set('given-up', 422).set('given-up-other', 422);
  await produce('wk_shop', track('retried', gone), track('given-up', gone));
  await produce('wk_shop', track('given-up-other', 'stays'));
  await produce('wk_late', track('rejected', gone));
  await eventually(async () => {
    assert.deepEqual((await deadLetters()).toSorted(), ['given-up', 'given-up-other']);
    assert.equal(await metric('router', 'postrider_router_rejected_total'), 1);
  });
  // With both roles away, one after the other, some are left in `delivery` and some in `ingest`.
  await stop('delivery');
  const arrivedBefore = arrivals.length;
  const routedBefore = await metric('router', 'postrider_router_events_total');
  await produce('wk_shop', track('waiting', gone), track('waiting-other', 'stays'));
  await produce('wk_shop', { type: 'alias', messageId: 'alias-to', userId: gone, previousId: 'x' });
  await produce('wk_shop', { type: 'alias', messageId: 'alias-of', userId: 'x', previousId: gone });
  await produce('wk_app', track('waiting-app', gone));
  await eventually(async () => {
    assert.equal(await metric('router', 'postrider_router_events_total'), routedBefore + 5);
  });
  await stop('router');
  await produce('wk_shop', track('unrouted', gone), track('unrouted-other', 'stays'));

  const answer = await run(['delete-user', gone, '--source', 'shop', '--json', '--yes']);
  const { effectiveAt, ...told } = JSON.parse(answer) as { effectiveAt: string };
  assert.deepEqual(told, {
    dryRun: false,
    users: 1,
    notifications: 1,
    repeated: 0,
    emptyLines: 0,
    sources: [{ source: 'shop', destinations: { crm: 1 }, disabled: [] }],
  });
  await produce('wk_shop', track('later', gone));
  statuses.clear();
  await apply({ ...shop, writeKeys: ['wk_shop', 'wk_late'] });
  await Promise.all([start('router'), start('delivery')]);
  await run(['rejected', 'redrive', '--user', gone]);
  const redriven = await postrider.run(['dead-letters', 'redrive', '--yes']);
  assert.match(redriven.stdout, /^1 event sent again/m);
  assert.match(redriven.stderr, /^1 event left out, because their user was deleted/m);

  // The retry, one that waited, both aliases, one that was not routed, one that was rejected.
  await dropped(6);
  await arrived('waiting-other', 'unrouted-other', 'given-up-other', 'waiting-app', 'later');
  const [notification, ...more] = await eventually(() => {
    const found = arrivedDeletes(gone);
    assert.ok(found.length > 0, 'no notification has arrived');
    return found;
  });
  assert.equal(more.length, 0);
  assert.equal(notification?.signature, 'valid');
  const { timestamp } = JSON.parse(notification.body.toString()) as { timestamp: string };
  assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.equal(
    notification.body.toString(),
    `{"type":"delete","userId":"${gone}","timestamp":"${timestamp}"}`,
  );
  assert.ok(notification.atMs - Date.parse(timestamp) >= 5_500);
  assert.ok(Date.parse(effectiveAt) - Date.parse(timestamp) >= 5_500);
  const old = ['retried', 'given-up', 'rejected', 'waiting', 'alias-to', 'alias-of', 'unrouted'];
  assert.deepEqual(
    arrivedIds().filter((id, index) => index >= arrivedBefore && old.includes(id)),
    [],
  );
});

test('every source and enabled destination is notified, whatever the destination wants', async () => {
  await apply({
    kind: 'Destination',
    id: 'pages',
    name: 'Pages',
    sources: ['shop'],
    events: ['page'],
    webhooks: [{ url: receiver.url }],
    sharedSecret: 'teehee',
    topic: 'dedicated',
  });
  await apply({
    kind: 'Destination',
    id: 'off',
    name: 'Off',
    sources: ['shop'],
    enabled: false,
    webhooks: [{ url: receiver.url }],
  });
  const dry = await run(['delete-user', 'u2', 'u3', '--dry-run']);
  assert.match(dry, /^shop +crm +2\nshop +pages +2$/m);
  assert.match(dry, /^nothing written; .*2 users at 2 sources deleted, 6 notifications such as/m);
  const { stdout, stderr, code } = await postrider.run(
    ['delete-user', '--yes', '--file', '-', 'u2'],
    {
      stdin: '\ufeffu2\r\n\r\nü:3\r\n',
    },
  );
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    /^2 users at 2 sources deleted as of \S+Z: .*; 6 notifications on the way$/m,
  );
  assert.match(stderr, /^destination off is disabled: it gets no notification for source shop$/m);
  assert.match(stderr, /^1 id repeated, used once$/m);
  assert.match(stderr, /^1 empty line skipped$/m);
  await eventually(() => {
    assert.deepEqual([arrivedDeletes('u2').length, arrivedDeletes('ü:3').length], [3, 3]);
  });
  const unasked = await postrider.run(['delete-user', 'u3']);
  assert.equal(unasked.code, 2);
  assert.match(unasked.stderr, /this deletes 1 user at app, .*shop, for good: .*--yes$/m);
  assert.equal(arrivedDeletes('u3').length, 0, 'the dry run has written something');
});

test('a notification that an endpoint refuses at first is tried again', async () => {
  notificationStatuses.push(503, 503);
  await run(['delete-user', 'u4', '--source', 'app', '--yes']);
  await eventually(() => {
    assert.equal(arrivedDeletes('u4').length, 3);
  });
});

/** Of every record of the topic. */
async function keysIn(topic: string): Promise<string[]> {
  const ranges = await withAdmin(kafka, (admin) => admin.offsets(topic));
  const keys: string[] = [];
  for await (const { key } of readRange(kafka, { topic, ranges })) keys.push(String(key));
  return keys;
}

test('a run over thousands that was killed is taken up by the same command', async () => {
  const bulk = { id: 'bulk', name: 'Bulk' };
  await apply(
    { kind: 'Source', ...bulk, writeKeys: ['wk_bulk'] },
    { kind: 'Destination', ...bulk, sources: ['bulk'], webhooks: [{ url: receiver.url }] },
  );
  const users = Array.from({ length: 6_000 }, (_, n) => `bulk-${n}`);
  const args = ['delete-user', '--yes', '--file', '-', '--source', 'bulk'];
  const first = postrider.begin(args);
  first.stdin.end(users.join('\n'));
  const deleted = async (): Promise<string[]> => {
    const keys = await keysIn(`${prefix}deletions`);
    return keys.filter((key) => key.startsWith('bulk:'));
  };
  await eventually(async () => {
    assert.ok((await deleted()).length > 0);
  });
  first.kill('SIGKILL');
  assert.equal((await first.ended).code, null, 'it was done before it was killed');

  const answer = await run(args, users.join('\n'));
  assert.match(
    answer,
    /^6000 users at 1 source deleted as of \S+Z: .*; 6000 notifications on the way$/m,
  );
  assert.deepEqual(new Set(await deleted()), new Set(users.map((user) => `bulk:${user}`)));
  const notified = new Set(await keysIn(`${prefix}retry.6s`));
  assert.ok(users.every((user) => notified.has(`bulk:${user}`)));
});

test('without Kafka it says so and gives up', async () => {
  const env = { KAFKA_BROKERS: '127.0.0.1:1' };
  const { code, stdout, stderr } = await postrider.run(['delete-user', 'u', '--yes'], { env });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr.trimEnd().split('\n').at(-1) ?? '', /^postrider: Kafka cannot be reached/);
});

for (const [args, stdin, code, message] of [
  [[], '', 2, /name users, as arguments or with --file/],
  [['  '], '', 2, /a user id is blank/],
  [['u', '--source', 'nope'], '', 1, /there is no source nope; known are: app, bulk, shop/],
  [['--file', '-'], '', 1, /the standard input names no user/],
  [
    ['--file', '-'],
    'a\n b\n\t\n',
    1,
    /line 2 has blanks around its id .*, and 1 more .* no user was deleted/,
  ],
  [['--file', '/does/not/exist'], '', 1, /\/does\/not\/exist does not exist/],
] as const) {
  test(`delete-user ${args.join(' ')} with ${JSON.stringify(stdin)} is refused in one line`, async () => {
    const ended = await postrider.run(['delete-user', ...args], { stdin });
    assert.deepEqual([ended.code, ended.stdout], [code, '']);
    assert.match(ended.stderr, message);
    assert.equal(ended.stderr.split('\n').length, 2);
  });
}

test('a deletion that fails between its two writes says from which user on it is half done', async () => {
  const other = await install({});
  const { TOPIC_PREFIX: otherPrefix = '' } = other.environment;
  for (const [args, stdin] of [
    [['topics', '--create'], ''],
    [
      ['apply', '-f', '-'],
      JSON.stringify([
        { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
        {
          kind: 'Destination',
          id: 'crm',
          name: 'CRM',
          sources: ['shop'],
          webhooks: [{ url: `${receiver.url}/crm` }],
        },
      ]),
    ],
  ] as const) {
    const { code, stderr } = await other.run(args, { stdin });
    assert.equal(code, 0, stderr);
  }
  const names = await withAdmin(kafka, (admin) => admin.topicNames(`${otherPrefix}retry.`));
  await withRawAdmin(kafka, (admin) =>
    admin.alterConfigs({
      validateOnly: false,
      resources: names.map((name) => ({
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name,
        configEntries: [{ name: 'max.message.bytes', value: '100' }],
      })),
    }),
  );
  const { code, stderr } = await other.run(['delete-user', 'ada', 'bob', '--yes']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^failed at user "ada": from there on, events may be dropped already, and destinations not told yet\. Run it again with all users$/m,
  );
});
