import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import kafkajs, { type AclFilter } from 'kafkajs';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { withAdmin } from '../../src/kafka/admin.ts';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import { storedUid } from '../../src/resources/config/stored.ts';
import { pauseRecord } from '../../src/resources/pauses/pause.ts';
import { makeCertificate } from '../delivery/http/certificates.ts';
import { eventually } from '../harness/eventually.ts';
import { sayAsWorker } from '../notices/said-by-worker.ts';
import { install, type Ended, type Installation } from '../harness/postrider.ts';
import { readKafkaUsers, type KafkaUser, type Right } from './kafka-users.ts';
import { passwordOf, securedBroker, type SecuredBroker } from './secured-broker.ts';

/** The manifests' users on a broker with Kafka's own authorizer, which says what it allowed by which rule. */

type Env = Readonly<Record<string, string>>;

/** Rights that a scene of seconds does not come to, and why they are needed all the same. */
const notShown: readonly RegExp[] = [
  // A dedicated topic is removed ten minutes after its destination, when it is empty.
  /^postrider-delivery Delete topic postrider\.delivery\.\*$/,
  // Letters of destinations with a topic of their own.
  /^postrider-(operator|console|api) Write topic postrider\.delivery\.\*$/,
  /^postrider-(operator|api) Describe group postrider\.delivery\.\*$/,
  // Events that fail again for a while.
  /^postrider-(operator|console|api) Read topic postrider\.retry\.\*$/,
  // What waits for a resource that is deleted, where anything does.
  /^postrider-operator Read topic postrider\.(ingest|ingest\.audience|delivery)$/,
];

const users = readKafkaUsers();
let broker: SecuredBroker;
let postrider: Installation;
let receiver: Receiver;
/** Requests by path. */
const arrived = new Map<string, number>();

function as(name: string): Env {
  return {
    KAFKA_BROKERS: broker.sasl,
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA_FILE: broker.authorityFile,
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: `postrider-${name}`,
    KAFKA_SASL_PASSWORD: passwordOf(`postrider-${name}`),
  };
}

/** The rights of a user without one of them, given to a principal that logs in by certificate. */
async function without(user: string, operation: string, name: string): Promise<Env> {
  const rights = userOf(user).rights.map((right) =>
    right.name === name
      ? { ...right, operations: right.operations.filter((each) => each !== operation) }
      : right,
  );
  const principal = `${user}-without-${operation}-${name}`;
  await broker.allow(principal, rights);
  const { cert, key } = makeCertificate({ name: principal, by: broker.clientAuthority });
  return {
    KAFKA_BROKERS: broker.mutual,
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA_FILE: broker.authorityFile,
    KAFKA_SSL_CERT_FILE: await broker.file(`${principal}.cert.pem`, cert),
    KAFKA_SSL_KEY_FILE: await broker.file(`${principal}.key.pem`, key),
  };
}

function userOf(name: string): KafkaUser {
  const user = users.find((each) => each.name === `postrider-${name}`);
  assert.ok(user, name);
  return user;
}

async function run(user: string, args: readonly string[], stdin: string = ''): Promise<Ended> {
  const ended = await postrider.run(args, { env: as(user), stdin });
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}

function destination(id: string, more: object = {}): string {
  const webhooks = [{ url: `${receiver.url}/${id}` }];
  return JSON.stringify({
    kind: 'Destination',
    id,
    name: id,
    sources: ['shop'],
    webhooks,
    ...more,
  });
}

function audience(file: string): string {
  const members = { file, userId: 'user' };
  return JSON.stringify({ kind: 'Audience', id: 'big', name: 'Big', source: 'shop', members });
}

const source = JSON.stringify({ kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] });

before(async () => {
  broker = await securedBroker();
  await Promise.all(users.map(({ name, rights }) => broker.allow(name, rights)));
  receiver = await startReceiver({
    port: 0,
    answer: ({ path }) => {
      const times = (arrived.get(path) ?? 0) + 1;
      arrived.set(path, times);
      return {
        status: path === '/refusing' ? 400 : path === '/failing' && times === 1 ? 500 : 200,
      };
    },
  });
  postrider = await install({
    KAFKA_BROKERS: broker.open,
    TOPIC_PREFIX: 'postrider.',
    AUDIENCE_FILES_DIR: tmpdir(),
  });
  await eventually(async () => {
    const { code, stderr } = await postrider.run(['topics', '--create']);
    assert.equal(code, 0, stderr);
  });
});

after(() => receiver.close());

/** For a destination of its own, whose calls nobody else gets. */
async function keepOne(): Promise<void> {
  const blog = source.replaceAll(/shop|wk/g, '$&-blog');
  const resting = destination('resting', { sources: ['shop-blog'] });
  await run('operator', ['apply', '-f', '-'], `${blog}\n---\n${resting}`);
  await run('operator', ['pause', 'resting']);
  await eventually(async () => {
    // One that comes before the worker hears of the pause is delivered.
    await run(
      'operator',
      ['produce', '--source', 'shop-blog'],
      '{"type":"identify","userId":"u5"}\n',
    );
    const { stdout } = await run('operator', ['attempts', 'resting', '-o', 'json']);
    assert.match(stdout, /"kind":"kept"/);
  });
  await run('operator', ['resume', 'resting']);
}

/** A destination that has failed for long is told, and paused. */
async function tellOne(): Promise<void> {
  const hook = { kind: 'NoticeHook', id: 'ops', name: 'Ops', url: `${receiver.url}/ops` };
  const lasting = destination('lasting', { disableAfter: '1h' });
  await run('resources', ['apply', '-f', '-'], `${JSON.stringify(hook)}\n---\n${lasting}`);
  const open = createKafka({ brokers: [broker.open], clientId: 'test' }, silentLogger);
  const failingSince = new Date(Date.now() - 2 * 3_600_000);
  let uid: string | undefined;
  for await (const { key, value } of readRange(open, { topic: 'postrider.config' }))
    if (key?.toString() === 'Destination/lasting') uid = storedUid(String(value));
  const identity = { id: 'lasting', uid };
  await sayAsWorker(open, 'postrider.destination-status', identity, failingSince);
  await eventually(() => {
    assert.equal(arrived.get('/ops'), 1);
  });
  assert.match((await run('operator', ['status', 'lasting'])).stdout, /^notice, .* is paused/m);
}

/** Somebody paused a former destination of that id. */
async function makeAgain(): Promise<void> {
  const open = createKafka({ brokers: [broker.open], clientId: 'test' }, silentLogger);
  const producer = await createProducer(open, { log: silentLogger });
  const since = new Date().toISOString();
  await producer.send([pauseRecord('postrider.pauses', { id: 'again' }, { since })]);
  await producer.close(5_000);
  await run('resources', ['apply', '-f', '-'], destination('again', { sources: ['shop-blog'] }));
  assert.match((await run('operator', ['status', 'again'])).stdout, /^again is unknown: no worker/);
}

/** One of each kind of line of each destination. */
async function someEvents(): Promise<Set<string>> {
  const { stdout } = await run('operator', ['attempts', '--since', '1h', '-o', 'json']);
  const found = new Map<string, string>();
  for (const line of stdout.trimEnd().split('\n')) {
    const { destination, kind, messageId } = JSON.parse(line) as Record<string, string>;
    found.set(`${destination} ${kind}`, messageId ?? '');
  }
  return new Set(found.values());
}

/** What its pages show, and what its operators do. */
async function useConsole(url: string): Promise<void> {
  const api = `${url}/api/v1`;
  const { csrf } = (await (await fetch(`${api}/session`)).json()) as { csrf: string };
  const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf };
  const post = async (path: string, sent: object = {}): Promise<{ id?: string }> => {
    const body = JSON.stringify(sent);
    const answer = await fetch(api + path, { method: 'POST', headers, body });
    assert.equal(answer.status, 200, `${path}: ${await answer.clone().text()}`);
    return (await answer.json()) as { id?: string };
  };
  const done = async (id: string = ''): Promise<void> => {
    await eventually(async () => {
      const answer = await fetch(`${api}/redrives/${id}`);
      const { state, detail } = (await answer.json()) as { state: string; detail?: string };
      assert.equal(state, 'done', detail);
    });
  };
  for (const path of ['/destinations', '/pipeline', '/dead-letters', '/rejected', '/audiences'])
    assert.equal((await fetch(api + path)).status, 200, path);
  await post('/destinations/taking/test');
  await post('/destinations/resting/pause');
  await done((await post('/destinations/resting/resume')).id);
  // It answers 503 after ten seconds, and goes on.
  await eventually(() => post('/destinations/resting/retry'));
  await done((await post('/redrives', { all: true })).id);
  for (const id of await someEvents())
    // It answers 503 where looking takes it too long.
    await eventually(async () => {
      const { status } = await fetch(`${api}/events?message=${encodeURIComponent(id)}`);
      assert.equal(status, 200, id);
    });
}

/** Nobody can list by states without the reports of workers. */
async function stateKnown(url: string): Promise<void> {
  const answer = await fetch(`${url}/v1/destinations?state=ok`);
  assert.equal(answer.status, 200, await answer.clone().text());
}

/** What an application has it do. */
async function useApi(url: string): Promise<void> {
  const ask = async (method: string, path: string, sent?: object): Promise<{ id?: string }> => {
    const answer = await fetch(`${url}/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(sent ?? {}),
    });
    assert.ok(answer.ok, `${path}: ${await answer.clone().text()}`);
    return answer.status === 204 ? {} : ((await answer.json()) as { id?: string });
  };
  const done = async ({ id = '' }: { id?: string }): Promise<void> => {
    await eventually(async () => {
      const answer = await fetch(`${url}/v1/runs/${id}`);
      const { state, detail } = (await answer.json()) as { state: string; detail?: string };
      assert.equal(state, 'done', detail);
    });
  };
  const webhooks = [{ url: `${receiver.url}/made` }];
  const made = { name: 'Made', sources: ['shop-blog'], webhooks, topic: 'dedicated' };
  await ask('PUT', '/destinations/made', made);
  await stateKnown(url);
  await ask('POST', '/destinations/made/test');
  await ask('POST', '/destinations/made/pause');
  await done(await ask('POST', '/destinations/made/resume'));
  await ask('DELETE', '/destinations/made');
  await eventually(() => ask('POST', '/destinations/resting/retry'));
  await done(await ask('POST', '/destinations/refusing/redrive'));
  const { id = '' } = await ask('POST', '/customers/acme/links', { manage: true });
  await eventually(() => ask('POST', `/links/${id}/revoke`));
  await ask('POST', '/users/nobody/suppress');
  await done(await ask('POST', '/users/nobody/delete'));
}

/**
 * Calls of producers and of a sync, from the shared topic and from a dedicated one, and what failed.
 * @param explained those that need no other look
 */
async function explainAll(explained: Set<string>): Promise<void> {
  for (const id of await someEvents()) {
    if (explained.has(id)) continue;
    const story = await run('operator', ['explain', id]);
    assert.match(story.stdout, /^(heavy|resting|notices:ops) +delivered/m);
    explained.add(id);
  }
}

test('each role and each command does its whole work with the rights of its user, and uses all of them', async (t) => {
  const resources = [
    source,
    destination('taking', { sharedSecret: 'teehee' }),
    destination('refusing'),
    destination('failing'),
    destination('heavy', { topic: 'dedicated' }),
  ];
  await run('resources', ['apply', '-f', '-'], resources.join('\n---\n'));
  await run('resources', ['secrets', 'rotate']);
  await run('topics', ['topics', '--check']);
  const indexDir = await mkdtemp(join(tmpdir(), 'postrider-test-'));
  t.after(() => rm(indexDir, { recursive: true, force: true }));
  const roles = await Promise.all([
    // Neither needs a key to the destinations' secrets.
    postrider.start('gateway', { ...as('gateway'), SECRET_KEY: '' }),
    postrider.start('router', { ...as('router'), SECRET_KEY: '' }),
    postrider.start('delivery', as('delivery')),
    postrider.start('console', { ...as('console'), CONSOLE_DATA_DIR: indexDir }),
    postrider.start('api', as('api')),
  ]);
  t.after(() => Promise.all(roles.map((role) => role.kill('SIGKILL'))));
  for (const body of ['{"userId":"u1","event":"E"}', '{"event":"of nobody"}']) {
    const headers = { authorization: `Basic ${Buffer.from('wk:').toString('base64')}` };
    const url = `${roles[0].gatewayUrl}/v1/track`;
    assert.equal((await fetch(url, { method: 'POST', headers, body })).status, 200);
  }
  await run('operator', ['produce', '--source', 'shop'], '{"type":"identify","userId":"u2"}\n');
  await eventually(() => {
    const times = ['/taking', '/refusing', '/failing', '/heavy'].map((path) => arrived.get(path));
    assert.deepEqual(times, [2, 2, 3, 2]);
  });
  const letters = await run('operator', ['dead-letters', 'list', '-o', 'json']);
  assert.match(letters.stdout, /http-400/);
  await run('operator', ['attempts', 'crm', '--since', '1h']);
  await run('operator', ['status', 'taking']);
  await run('operator', ['status']);
  await run('operator', ['dead-letters', 'redrive', '--yes']);
  await keepOne();
  await tellOne();
  await makeAgain();
  // The router rejects it once more.
  await run('operator', ['rejected', 'redrive', '--reason', 'no-user']);
  await run('operator', ['apply', '-f', '-'], destination('other', { topic: 'dedicated' }));
  const otherSource = source.replaceAll(/shop|wk/g, '$&-other');
  await run('operator', ['apply', '-f', '-'], otherSource);
  for (const [kind, id] of [
    ['destination', 'other'],
    ['source', 'shop-other'],
  ] as const) {
    const { stderr } = await run('operator', ['delete', kind, id, '--yes']);
    assert.doesNotMatch(stderr, /not known/);
  }
  await eventually(() => {
    assert.equal(arrived.get('/refusing'), 4);
  });
  await eventually(async () => {
    const { stdout } = await run('operator', ['rejected', 'list', '-o', 'json']);
    assert.equal(stdout.match(/"reason": "no-user"/g)?.length, 2, stdout);
  });
  const linked = await postrider.run(['console-link', '--customer', 'acme', '--manage'], {
    env: { ...as('operator'), CONSOLE_URL: 'https://console.shop.example' },
  });
  assert.equal(linked.code, 0, linked.stderr);
  await run('operator', ['console-link', '--list']);
  await run('operator', ['delete-user', 'u3', '--yes']);
  await run('operator', ['suppress-user', 'nobody']);
  await run('operator', ['suppress-user', '--list']);
  await eventually(() => {
    assert.equal(arrived.get('/taking'), 3);
  });
  const members = await broker.file('members.csv', 'user\nu4\n');
  await run('resources', ['apply', '-f', '-'], audience(members));
  await run('audience-sync', ['audience-sync', '--yes', '--checkpoint-dir', dirname(members)]);
  // By hand, in the toolbox.
  await run('operator', ['audience-sync', 'big']);
  await eventually(() => {
    assert.equal(arrived.get('/taking'), 4);
  });
  const explained = new Set<string>();
  await eventually(() => explainAll(explained));
  await useConsole(roles[3].consoleUrl);
  await run('resources', ['apply', '-f', '-'], audience(members));
  await run('operator', ['delete', 'audience', 'big', '--retire', '--yes']);
  await eventually(() => {
    assert.equal(arrived.get('/taking'), 6);
  });
  await useApi(roles[4].apiUrl);
  // After Strimzi, which gives its own topics more.
  const { stdout: grown } = await run('operator', [
    ...['topics', 'add-partitions', 'postrider.delivery.heavy', '--partitions', '20', '--yes'],
  ]);
  assert.match(grown, /^postrider\.delivery\.heavy has 20 partitions$/m);
  for (const role of roles) assert.equal(await role.kill('SIGTERM'), 0, role.log());

  const audit = (await broker.audit()).filter((line) => line.includes('User:postrider-'));
  assert.deepEqual(
    audit.filter((line) => line.includes('is Denied')),
    [],
  );
  const used = new Set(audit.flatMap(usedRight));
  const superfluous = users.flatMap(rightsOf).filter((right) => !used.has(right));
  assert.deepEqual(
    superfluous.filter((right) => !notShown.some((pattern) => pattern.test(right))),
    [],
  );
});

/** `postrider-router Read topic postrider.ingest`, with a star behind a prefix. */
function rightsOf({ name: user, rights }: KafkaUser): string[] {
  return rights.flatMap(({ type, name, prefix, operations }) =>
    operations.map((operation) => `${user} ${operation} ${type} ${name}${prefix ? '*' : ''}`),
  );
}

function usedRight(line: string): string[] {
  const rule =
    /is Allowed .*resourceType=(\w+), resourceName=([^,]+), patternType=(\w+), principal=User:([^,]+), .*operation=(\w+)/;
  const [, type = '', name = '', pattern, user = '', operation = ''] = rule.exec(line) ?? [];
  if (user === '') return [];
  const star = pattern === 'PREFIXED' ? '*' : '';
  const kind = camelCase(type).replace(/^./, (first) => first.toLowerCase());
  return [`${user} ${camelCase(operation)} ${kind} ${name}${star}`];
}

/** `DESCRIBE_CONFIGS` as `DescribeConfigs`, as manifests spell it. */
function camelCase(operation: string): string {
  return operation
    .split('_')
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join('');
}

test('no user can write, delete or look at rights beyond its own', async () => {
  const before = await ends();
  for (const user of users) {
    const kafka = kafkaOf(user);
    const producer = kafka.producer({ retry: { retries: 0 } });
    await producer.connect();
    for (const topic of before.keys()) {
      if (allows(user.rights, 'Write', topic)) continue;
      const writing = producer.send({ topic, messages: [{ value: 'forged' }] });
      await assert.rejects(writing, `${user.name} to ${topic}`);
    }
    await producer.disconnect();
    const admin = kafka.admin({ retry: { retries: 0 } });
    await assert.rejects(admin.describeAcls(anyAcl), /Cluster authorization failed/);
    await assert.rejects(admin.deleteTopics({ topics: ['postrider.ingest'] }));
    await admin.disconnect();
  }
  assert.deepEqual(await ends(), before);
});

test('a right that is missing is told in one sentence, by roles and by commands', async (t) => {
  const roles: readonly (readonly [string, string, string, RegExp])[] = [
    // Whoever may read or write a topic may see it: without that right it is hidden.
    ['router', 'Write', 'postrider.delivery', /refuse .* needs of topic postrider\.delivery$/m],
    ['gateway', 'Read', 'postrider.config', /refuse .* needs of topic postrider\.config/],
    ['delivery', 'Read', 'postrider.deletions', /refuse .* needs of topic postrider\.deletions/],
    ['router', 'Read', 'postrider.ingest', /refuse .* needs of topic postrider\.ingest$/m],
    ['router', 'DescribeConfigs', 'postrider.ingest', /refuse .* topic postrider\.ingest/],
    ['router', 'Read', 'postrider.router', /refuse .* needs of group .*postrider\.router/],
    ['delivery', 'Read', 'postrider.retry.', /refuse .* postrider\.retry\./],
  ];
  for (const [role, operation, name, says] of roles) {
    const env = await without(role, operation, name);
    const begun = (await install({ ...postrider.environment, ...env })).begin([role]);
    t.after(() => {
      begun.kill('SIGKILL');
    });
    await eventually(() => {
      assert.match(begun.stderr(), says);
    });
    begun.kill('SIGKILL');
    await begun.ended;
  }
  const commands: readonly (readonly [string, string, string, readonly string[], RegExp])[] = [
    ['resources', 'Read', 'postrider.config', ['get', 'source'], /of topic postrider\.config$/],
    [
      ...(['resources', 'Write', 'postrider.config', ['apply', '-f', '-']] as const),
      /refuse this principal what it needs of topic postrider\.config$/,
    ],
    [
      'operator',
      'Read',
      'postrider.dead-letter',
      ['dead-letters', 'list'],
      /postrider\.dead-letter/,
    ],
    [
      ...(['operator', 'Write', 'postrider.ingest', ['produce', '--source', 'shop']] as const),
      /do not let this principal write to topic postrider\.ingest$/,
    ],
    ['topics', 'DescribeConfigs', 'postrider.', ['topics'], /of topic postrider\./],
  ];
  for (const [user, operation, name, args, says] of commands) {
    const env = await without(user, operation, name);
    const stdin =
      args[0] === 'apply'
        ? source.replaceAll(/shop|wk/g, '$&-2')
        : '{"type":"identify","userId":"u"}\n';
    const { code, stderr } = await postrider.run(args, { env, stdin });
    const said = stderr.split('\n').filter((line) => line.startsWith('postrider: '));
    assert.deepEqual([code, said.length], [1, 1], stderr);
    assert.match(said.join(), says);
  }
});

test('without the right to see what waits, a deletion says so and goes on', async () => {
  await run('resources', ['apply', '-f', '-'], [source, destination('spare')].join('\n---\n'));
  const { stderr } = await run('resources', ['delete', 'destination', 'spare', '--yes']);
  assert.match(
    stderr,
    /^Destination spare: the number of events that wait for it is not known \(Kafka's ACLs refuse this principal what it needs of topic postrider\.delivery\)$/m,
  );
});

test('without the right to pauses, which former releases did not need, resources are changed all the same', async () => {
  const env = await without('resources', 'Read', 'postrider.pauses');
  const stdin = destination('spare-2');
  const { code, stderr } = await postrider.run(['apply', '-f', '-'], { env, stdin });
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /^if the config topic is ever lost, what is kept for these destinations may be lost too \(Kafka's ACLs refuse .* topic postrider\.pauses\)$/m,
  );
});

const anyAcl: AclFilter = {
  resourceType: kafkajs.AclResourceTypes.ANY,
  resourcePatternType: kafkajs.ResourcePatternTypes.ANY,
  operation: kafkajs.AclOperationTypes.ANY,
  permissionType: kafkajs.AclPermissionTypes.ANY,
};

/** How far each topic is written. */
async function ends(): Promise<Map<string, readonly number[]>> {
  const kafka = createKafka({ brokers: [broker.open], clientId: 'test' }, silentLogger);
  return withAdmin(kafka, async (admin) => {
    const topics = await admin.topicNames('postrider.');
    const offsets = await Promise.all(topics.map((topic) => admin.offsets(topic)));
    return new Map(topics.map((topic, i) => [topic, (offsets[i] ?? []).map(({ end }) => end)]));
  });
}

function kafkaOf({ name: username }: KafkaUser): KafkaClient {
  const ssl = (): object => ({ ca: readFileSync(broker.authorityFile) });
  const login = { mechanism: 'scram-sha-512', username, password: passwordOf(username) } as const;
  return createKafka(
    { brokers: [broker.sasl], clientId: 'test', ssl, sasl: () => login },
    silentLogger,
  );
}

function allows(rights: readonly Right[], operation: string, topic: string): boolean {
  return rights.some(
    ({ type, name, prefix, operations }) =>
      type === 'topic' &&
      operations.includes(operation) &&
      (prefix ? topic.startsWith(name) : topic === name),
  );
}
