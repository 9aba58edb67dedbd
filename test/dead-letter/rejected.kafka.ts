import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeEnvelope, envelopeHeader, type Envelope } from '../../src/event/envelope.ts';
import { withAdmin } from '../../src/kafka/admin.ts';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

const calls = 20;
let postrider: Installation;
let router: RunningRole;
let kafka: KafkaClient;
let prefix: string;
/** When the calls that nobody knew were written, at the latest. */
let arrivedMs: number;

interface Listed {
  readonly partition: number;
  readonly offset: number;
  readonly reason: string;
  readonly key: string;
  readonly sentAgain: string | null;
  readonly origin: { readonly topic: string; readonly partition: number; readonly offset: number };
}

before(async () => {
  postrider = await install();
  prefix = postrider.environment['TOPIC_PREFIX'] ?? '';
  const brokers = (postrider.environment['KAFKA_BROKERS'] ?? '').split(',');
  kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
  await run('topics', '--create');
  router = await postrider.start('router');
  const producer = await createProducer(kafka, { log: silentLogger });
  const users = Array.from({ length: calls }, (_, i) => `u${i}`);
  await producer.send([
    ...users.map((userId) => ({
      topic: `${prefix}ingest`,
      key: userId,
      value: JSON.stringify({ type: 'identify', userId }),
      headers: { 'write-key': 'wk_late' },
    })),
    { topic: `${prefix}ingest`, key: 'broken', value: '{"type":' },
  ]);
  arrivedMs = Date.now();
  await producer.close(5_000);
  await eventually(async () => {
    assert.equal((await list()).length, calls + 1);
  });
});

after(() => router.kill('SIGKILL'));

async function run(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await postrider.run(args);
  assert.equal(code, 0, stderr);
  return stdout;
}

async function list(...args: readonly string[]): Promise<Listed[]> {
  return JSON.parse(await run('rejected', 'list', '-o', 'json', ...args)) as Listed[];
}

async function routed(): Promise<Envelope[]> {
  const topic = `${prefix}delivery`;
  const ranges = await withAdmin(kafka, (admin) => admin.offsets(topic));
  const envelopes: Envelope[] = [];
  for await (const { headers } of readRange(kafka, { topic, ranges })) {
    envelopes.push(decodeEnvelope(headers[envelopeHeader] ?? Buffer.alloc(0)) ?? assert.fail());
  }
  return envelopes;
}

test('rejected calls are listed with their reason, and selected', async () => {
  const [broken] = await list('--reason', 'invalid-json');
  assert.equal(broken?.key, 'broken');
  assert.equal((await list('--user', 'u7')).length, 1);
  assert.equal((await list('--since', '1h', '--limit', '5')).length, 5);
  assert.equal((await list('--until', '1h')).length, 0);
  assert.match(await run('rejected', 'list'), /^PLACE +AGE +REASON/);
});

test('one rejected call is shown as it was received', async () => {
  const [{ partition, offset } = assert.fail()] = await list('--user', 'broken');
  const shown = await run('rejected', 'show', `${partition}:${offset}`);
  assert.match(shown, /^reason +invalid-json$/m);
  assert.match(shown, /\n\n\{"type":\n$/);
});

test('a place where there is no record is an error that says what there is', async () => {
  const { code, stderr } = await postrider.run(['rejected', 'show', '0:999999']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^postrider: there is no record 0:999999 in .*; partition 0 (holds|is empty)/,
  );
});

test('calls of a source that was added later are sent again, once, as if they had just been read', async () => {
  const before = await list('--reason', 'unknown-write-key');
  const source = { kind: 'Source', id: 'late', name: 'Late', writeKeys: ['wk_late'] };
  const destination = {
    kind: 'Destination',
    id: 'crm',
    name: 'CRM',
    sources: ['late'],
    webhooks: [{ url: 'https://crm.example.com' }],
  };
  const stdin = JSON.stringify([source, destination]);
  assert.equal((await postrider.run(['apply', '-f', '-'], { stdin })).code, 0);

  const counted = await run('rejected', 'redrive', '--source', 'late', '--dry-run');
  assert.match(counted, new RegExp(`^unknown-write-key +${calls}$`, 'm'));
  assert.deepEqual(await routed(), []);

  const redrive = ['rejected', 'redrive', '--source', 'late', '--rate', '200/s'];
  assert.match(await run(...redrive), new RegExp(`^${calls} calls sent again`, 'm'));
  assert.match(await run(...redrive), /^0 calls sent again/m);
  const envelopes = await eventually(async () => {
    const found = await routed();
    assert.equal(found.length, calls);
    return found;
  });

  const ids = before.map(({ origin: { topic, partition, offset } }) =>
    [topic, partition, offset].join(':'),
  );
  assert.deepEqual(envelopes.map(({ messageId }) => messageId).sort(), ids.sort());
  for (const { appendTimeMs, redrivenMs } of envelopes) {
    assert.ok(appendTimeMs <= arrivedMs);
    assert.ok(redrivenMs !== undefined && redrivenMs > appendTimeMs);
  }
  const after = await list('--reason', 'unknown-write-key');
  assert.ok(after.every(({ sentAgain }) => sentAgain !== null));
});

test('a call whose own bytes are bad is sent again only where its reason is named', async () => {
  const left =
    /^1 call left out, because they are invalid and would be rejected again: 1 invalid-json; --reason with their reason sends them anyway$/m;
  for (const more of [['--dry-run'], []]) {
    const { code, stdout, stderr } = await postrider.run(['rejected', 'redrive', '--yes', ...more]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, left);
    assert.doesNotMatch(stdout, /invalid-json/);
  }
  assert.equal((await list('--user', 'broken')).length, 1);
});

test('a call that is rejected again keeps its origin, and can be sent again', async () => {
  const [first = assert.fail()] = await list('--user', 'broken');
  const redrive = ['rejected', 'redrive', '--reason', 'invalid-json'];
  await run(...redrive);
  const [, second] = await eventually(async () => {
    const found = await list('--user', 'broken');
    assert.equal(found.length, 2);
    return found.sort((a, b) => a.offset - b.offset);
  });
  assert.deepEqual(second?.origin, first.origin);
  assert.match(await run(...redrive), /^1 call sent again/m);
});

test('what was sent again before is sent once more only when asked for', async () => {
  const again = ['rejected', 'redrive', '--user', 'u3', '--again'];
  assert.match(await run(...again), /^1 call sent again/m);
});

test('single calls are named by their places', async () => {
  const [{ partition, offset } = assert.fail()] = await list('--user', 'u4');
  const place = `${partition}:${offset}`;
  const { stdout, stderr } = await postrider.run(['rejected', 'redrive', place, '--dry-run']);
  assert.equal(stdout, 'REASON  CALLS\n');
  assert.equal(stderr, '1 call left out, sent again before; --again sends them too\n');
  const again = await run('rejected', 'redrive', place, '--dry-run', '--again');
  assert.match(again, /^unknown-write-key +1$/m);
});

test('what makes no sense is refused with what is allowed', async () => {
  for (const [args, allowed] of [
    [['list', '--reason', 'odd'], /Allowed: empty, too-large/],
    [['list', '--since', 'odd'], /Allowed: a duration ago, e.g. 2h/],
    [['redrive', '--rate', '0/s'], /Allowed: a rate such as 100\/s/],
    [['show', '7'], /Allowed: <partition>:<offset>/],
    [['redrive', '0:1', '7'], /Allowed: <partition>:<offset>/],
    [['redrive', '0:1', '--user', 'u'], /^postrider: give either places or options that select/],
    [
      ['list', '--since', '1h', '--until', '2h'],
      /^postrider: --since must be earlier than --until$/m,
    ],
  ] as const) {
    const { code, stderr } = await postrider.run(['rejected', ...args]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, allowed);
  }
  const { code, stderr } = await postrider.run(['rejected', 'list', '--source', 'nobody']);
  assert.equal(code, 1);
  assert.match(stderr, /there is no source nobody; known are: late/);
});
