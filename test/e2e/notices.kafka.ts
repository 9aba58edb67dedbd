import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Ajv } from 'ajv';
import { startReceiver, type Arrival, type Receiver } from '../../src/dev/receiver.ts';
import type { Notice } from '../../src/event/notice.ts';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { testBroker } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';
import { sayAsWorker } from '../notices/said-by-worker.ts';

const sharedSecret = 'for operators';
const schema: unknown = JSON.parse(
  readFileSync(new URL('../../src/schemas/notices.json', import.meta.url), 'utf8'),
);
const isNotice = new Ajv({ validateFormats: false }).compile(schema as object);

const arrived: Arrival[] = [];
/** The endpoint that had answered that it takes no more events takes them again. */
let isBack = false;
let receiver: Receiver;
let postrider: Installation;
let kafka: KafkaClient;
let workers: RunningRole[] = [];
let router: RunningRole | undefined;

async function run(args: readonly string[], stdin: string = ''): Promise<string> {
  const { code, stdout, stderr } = await postrider.run(args, { stdin });
  assert.equal(code, 0, stderr);
  return stdout;
}

function ago(minutes: number): Date {
  return new Date(Date.now() - minutes * 60_000);
}

async function say(destination: string, failingSince?: Date): Promise<void> {
  const topic = `${String(postrider.environment['TOPIC_PREFIX'])}destination-status`;
  await sayAsWorker(kafka, topic, { id: destination }, failingSince);
}

/** `<destination> <notice> <after>` of what the hook got. */
function told(): string[] {
  const bodies = arrived.filter(({ path }) => path === '/ops').map(({ body }) => body.toString());
  const notices = bodies.map((body) => JSON.parse(body) as Notice);
  // What was on its way when a worker was killed may come again, as every event.
  const once = new Map(notices.map((notice) => [notice.id, notice]));
  return Array.from(once.values(), ({ destination, notice, after: time = '' }) =>
    `${destination} ${notice} ${time}`.trim(),
  );
}

function lastTold(): string {
  return arrived.findLast(({ path }) => path === '/ops')?.body.toString() ?? '';
}

before(async () => {
  const { brokers } = await testBroker();
  kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
  receiver = await startReceiver({
    port: 0,
    sharedSecret,
    answer: (arrival) => {
      arrived.push(arrival);
      return { status: arrival.path === '/left' && !isBack ? 410 : 200 };
    },
  });
  postrider = await install({});
  await run(['topics', '--create']);
  const destination = { kind: 'Destination', sources: ['shop'], name: 'D' };
  const signedByTheStandard = {
    sharedSecret,
    signature: 'standard',
    notify: { url: `${receiver.url}/owner` },
  };
  const resources = [
    ...['shop', 'left'].map((id) => ({ kind: 'Source', id, name: id, writeKeys: [id] })),
    ...['crm', 'ads', 'late', 'left'].map((id) => ({
      ...destination,
      id,
      webhooks: [{ url: `${receiver.url}/${id}` }],
      ...(id === 'crm' ? { disableAfter: '1h', ...signedByTheStandard } : {}),
      ...(id === 'left' ? { disableAfter: 'never', sources: ['left'] } : {}),
    })),
    {
      kind: 'NoticeHook',
      id: 'ops',
      name: 'Operators',
      url: `${receiver.url}/ops`,
      headers: { 'x-team': 'platform' },
      sharedSecret,
    },
    {
      kind: 'NoticeHook',
      id: 'chat',
      name: 'Chat',
      url: `${receiver.url}/chat`,
      format: 'chat',
    },
  ];
  await run(['apply', '-f', '-'], JSON.stringify(resources));
  router = await postrider.start('router');
  workers = [await postrider.start('delivery'), await postrider.start('delivery')];
});

after(async () => {
  await Promise.all(
    [...(router === undefined ? [] : [router]), ...workers].map((role) => role.kill('SIGKILL')),
  );
  await receiver.close();
});

test('a destination that fails for long is told to operators and their chat, signed and once', async () => {
  await say('ads', ago(20));
  await eventually(() => {
    assert.deepEqual(told(), ['ads failing 15m']);
    assert.equal(arrived.filter(({ path }) => path === '/chat').length, 1);
  });
  const [first] = arrived.filter(({ path }) => path === '/ops');
  assert.equal(first?.signature, 'valid');
  assert.equal(first.headers['x-team'], 'platform');
  const notice: unknown = JSON.parse(first.body.toString());
  assert.ok(isNotice(notice), JSON.stringify(isNotice.errors));
  const chat = arrived.find(({ path }) => path === '/chat')?.body.toString() ?? '';
  assert.match(
    chat,
    /^\{"text":"Destination ads has failed for 20m, since \S+ \S+ UTC: answered 500. 271 events wait."\}$/,
  );
  assert.match(
    await run(['status', 'ads']),
    /^notice, \d+s ago: Destination ads has failed for 20m/m,
  );
});

test('disableAfter pauses it: its events are kept, operators are told, and resume sends them', async () => {
  await say('crm', ago(90));
  await eventually(() => {
    assert.deepEqual(told().slice(1), ['crm disabled']);
  });
  assert.match(
    await run(['pause', 'crm']),
    /^destination crm is paused already, since \S+, by disableAfter: it had failed since \S+$/m,
  );
  await run(['produce', '--source', 'shop'], '{"type":"identify","userId":"u1","messageId":"m1"}');
  await eventually(async () => {
    assert.match(await run(['attempts', 'crm']), /kept/);
    assert.ok(arrived.some(({ path }) => path === '/ads'));
  });
  assert.ok(!arrived.some(({ path }) => path === '/crm'));
  await run(['resume', 'crm']);
  await eventually(() => {
    assert.ok(arrived.some(({ path }) => path === '/crm'));
  });
  await say('crm');
  await eventually(() => {
    assert.deepEqual(told().slice(2), ['crm well']);
  });
});

test("the destination's owner is told the same at the place of their own, signed as events are", async () => {
  const toOwner = (): Arrival[] => arrived.filter(({ path }) => path === '/owner');
  await eventually(() => {
    const kinds = toOwner().map(({ body }) => (JSON.parse(body.toString()) as Notice).notice);
    assert.deepEqual([...new Set(kinds)], ['disabled', 'well']);
  });
  for (const { signature, headers, body } of toOwner()) {
    assert.equal(signature, 'valid');
    assert.ok(headers['webhook-id']?.includes('notice-crm-'));
    assert.doesNotMatch(body.toString(), /postrider|"uid"/i);
  }
  assert.match(await run(['send-test', 'notify:crm']), /\/owner +delivered/);
  const last = toOwner().at(-1)?.body.toString() ?? '';
  assert.match(last, /"notice":"test"/);
});

test('an endpoint that answers 410 is paused: its events are kept, and resume sends them', async () => {
  await run(['produce', '--source', 'left'], '{"type":"identify","userId":"u","messageId":"m2"}');
  await eventually(() => {
    assert.deepEqual(told().slice(3), ['left disabled']);
  });
  const { text } = JSON.parse(lastTold()) as Notice;
  assert.match(
    text,
    /^Destination left is paused, because its endpoint answers 410: it takes no more /,
  );
  assert.match(
    await run(['pause', 'left']),
    /^destination left is paused already, since \S+, by its endpoint: it answered 410, /m,
  );
  isBack = true;
  await run(['resume', 'left']);
  await eventually(() => {
    assert.ok(arrived.filter(({ path }) => path === '/left').length > 1);
  });
  assert.doesNotMatch(await run(['attempts', 'left']), /dead letter|gave up/);
  await say('left');
  await eventually(() => {
    assert.deepEqual(told().slice(4), ['left well']);
  });
});

test('whoever takes over from a worker that is killed repeats nothing and forgets nothing', async () => {
  const watching = workers.find((each) => each.log().includes('this process writes notices'));
  assert.ok(watching);
  await watching.kill('SIGKILL');
  await say('late', ago(300));
  await eventually(() => {
    assert.deepEqual(told().slice(5), ['late failing 4h']);
  });
  await say('ads');
  await eventually(() => {
    assert.deepEqual(told().slice(6), ['ads well']);
  });
});

test('a hook is a resource: its secrets are never shown, it can be tried, and mistakes are told', async () => {
  const shown = await run(['get', 'notice-hooks', '-o', 'yaml']);
  assert.match(shown, /kind: NoticeHook/);
  assert.doesNotMatch(shown, /for operators|platform|\/ops|\/chat/);
  assert.match(await run(['send-test', 'notices:chat']), /\/#[0-9a-f]{8} +delivered/);
  const { stderr } = await postrider.run(['apply', '-f', '-'], {
    stdin:
      'kind: NoticeHook\nid: bad\nname: Bad\nurl: ftp://x\nformat: xml\n---\nkind: Destination\nid: d\nname: D\nsources: []\nwebhooks: [{url: "https://d.example"}]\ndisableAfter: 5s\n',
  });
  assert.match(stderr, /^standard input:4: url: must be a URL that starts with http/m);
  assert.match(stderr, /^standard input:5: format: must be one of notice, chat$/m);
  assert.match(stderr, /disableAfter: must be a duration from 1m to 90d, such as 5d, or never$/m);
  await run(['delete', 'notice-hook', 'chat', '--yes']);
});
