import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { withAdmin } from '../../src/kafka/admin.ts';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { testBroker } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

/** Message ids by destination, in the order in which they arrived. */
const arrived = { free: [] as string[], limited: [] as string[], failing: [] as string[] };
let isFailing = true;
let receiver: Receiver;
let postrider: Installation;
let roles: RunningRole[] = [];
let kafka: KafkaClient;
let prefix: string;
let sent = 0;

before(async () => {
  receiver = await startReceiver({
    port: 0,
    answer: ({ path, headers }) => {
      const id = path.slice(1) as keyof typeof arrived;
      if (id === 'failing' && isFailing) return { status: 503 };
      arrived[id].push(String(headers['message-id']));
      return { status: 200 };
    },
  });
  postrider = await install({ TOPIC_PARTITIONS: '2' });
  prefix = postrider.environment['TOPIC_PREFIX'] ?? '';
  const { brokers } = await testBroker();
  kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
  const created = await postrider.run(['topics', '--create', '--check']);
  assert.equal(created.code, 0, created.stderr);
  const destinations = Object.keys(arrived).map((id) => ({
    kind: 'Destination',
    id,
    name: id,
    sources: ['shop'],
    webhooks: [{ url: `${receiver.url}/${id}` }],
    idempotencyHeader: 'Message-Id',
    ...(id === 'limited' ? { rateLimit: '500/s' } : {}),
  }));
  const source = { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] };
  const stdin = JSON.stringify([source, ...destinations]);
  const applied = await postrider.run(['apply', '-f', '-'], { stdin });
  assert.equal(applied.code, 0, applied.stderr);
  roles = await Promise.all([postrider.start('router'), postrider.start('delivery')]);
});

after(async () => {
  await Promise.all(roles.map((role) => role.kill('SIGKILL')));
  await receiver.close();
});

async function send(count: number): Promise<void> {
  const calls = Array.from({ length: count }, () => {
    sent += 1;
    return { type: 'track', event: 'E', userId: `u${sent % 7}`, messageId: `m${sent}` };
  });
  const stdin = calls.map((call) => JSON.stringify(call)).join('\n');
  const { code, stderr } = await postrider.run(['produce', '--source', 'shop'], { stdin });
  assert.equal(code, 0, stderr);
}

async function allArrived(...ids: readonly (keyof typeof arrived)[]): Promise<void> {
  await eventually(() => {
    for (const id of ids) assert.equal(new Set(arrived[id]).size, sent, id);
  });
}

async function partitionsOf(...names: readonly string[]): Promise<number[]> {
  const counts = names.map((name) =>
    withAdmin(kafka, (admin) => admin.partitionCount(`${prefix}${name}`)),
  );
  return Promise.all(counts);
}

const together = ['delivery', 'retry.500ms', 'retry.1s'] as const;

test('making topics moves no keys, and says what differs', async () => {
  const { code, stdout } = await postrider.run(['topics', '--create', '--check', '-o', 'wide'], {
    env: { TOPIC_PARTITIONS: '5' },
  });
  assert.equal(code, 1);
  assert.match(stdout, /delivery +differs +2 +.*add-partitions --partitions 5/);
  assert.deepEqual(await partitionsOf('ingest', ...together), [2, 2, 2, 2]);
});

test('nothing is done that nobody has confirmed', async () => {
  const { code, stderr } = await postrider.run(['topics', 'add-partitions', '--partitions', '5']);
  assert.equal(code, 2);
  assert.match(stderr, /delivery: 2 to 5 partitions/);
  assert.match(stderr, /Keys move to other partitions/);
  assert.match(stderr, /add --yes to do it/);
  assert.deepEqual(await partitionsOf('ingest', ...together), [2, 2, 2, 2]);
});

test('roles that run go on where a run was cut off between two topics, and after the next', async () => {
  await send(50);
  await allArrived('free', 'limited');
  // As if the command was killed after the first topic.
  const [first] = together;
  await withAdmin(kafka, (admin) =>
    admin.extendPartitions([{ name: `${prefix}${first}`, partitions: 5 }]),
  );
  await send(50);
  await allArrived('free', 'limited');

  const grown = await postrider.run(['topics', 'add-partitions', '--partitions', '5', '--yes']);
  assert.equal(grown.code, 0, grown.stderr);
  assert.doesNotMatch(grown.stdout, /\.delivery has/);
  assert.match(grown.stdout, /retry\.1s has 5 partitions/);
  assert.match(grown.stderr, /TOPIC_PARTITIONS is 2: set it to 5/);
  // Brokers hear of new partitions one after the other.
  await eventually(async () => {
    assert.deepEqual(await partitionsOf('ingest', ...together), [5, 5, 5, 5]);
  });
  await send(50);
  isFailing = false;
  await allArrived('free', 'limited', 'failing');
  for (const ids of Object.values(arrived)) assert.equal(ids.length, sent, 'nothing twice');

  const env = { TOPIC_PARTITIONS: '5' };
  const { code, stdout } = await postrider.run(['topics', '--check'], { env });
  assert.equal(code, 0, stdout);
  const again = await postrider.run(['topics', 'add-partitions', '--partitions', '5', '--yes']);
  assert.match(again.stdout, /nothing to do/);
});
