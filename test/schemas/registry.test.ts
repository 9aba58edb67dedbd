import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import confluent from '@kafkajs/confluent-schema-registry';
import { createDecoder } from '../../src/schemas/decoder.ts';
import { checkSchema, ingestSchema, registerSchema } from '../../src/schemas/publish.ts';
import { RegistryClient } from '../../src/schemas/registry-client.ts';
import { payloadOf, schemaIdOf } from '../../src/schemas/registered-schema.ts';
import { givenRegistry, startRegistry, type TestRegistry } from '../harness/registry.ts';
import { runCommand } from '../harness/run-command.ts';

/**
 * On the stand-in, or on a real registry where SCHEMA_REGISTRY_URL names one: what is asked here must be
 * so of both. Producers are a client that is not ours.
 */
let standIn: TestRegistry | undefined;
const given = givenRegistry();
const { username, password } = given ?? {};
let url = given?.url ?? '';
let client: RegistryClient;
let foreign: confluent.SchemaRegistry;

before(async () => {
  if (given === undefined) {
    standIn = await startRegistry();
    url = standIn.url;
  }
  client = new RegistryClient({ url, username, password });
  const auth = username === undefined ? undefined : { username, password: password ?? '' };
  foreign = new confluent.SchemaRegistry({ host: url, ...(auth === undefined ? {} : { auth }) });
});

after(() => standIn?.stop());

/** Nobody else's, on a registry that others may use. */
function subjectName(): string {
  return `t${randomBytes(5).toString('hex')}-value`;
}

function command(...args: readonly string[]): ReturnType<typeof runCommand> {
  const login: Record<string, string> =
    username === undefined
      ? {}
      : { SCHEMA_REGISTRY_USERNAME: username, SCHEMA_REGISTRY_PASSWORD: password ?? '' };
  return runCommand(args, { PATH: process.env['PATH'] ?? '', SCHEMA_REGISTRY_URL: url, ...login });
}

function recordSchema(...fields: readonly object[]): string {
  return JSON.stringify({ type: 'record', name: 'Call', namespace: 'shop', fields });
}

const base = { name: 'userId', type: 'string' };
const optional = { name: 'event', type: ['null', 'string'], default: null };
const required = { name: 'm', type: 'string' };

test('what another client encodes with Avro is decoded here', async () => {
  const schema = recordSchema(base, optional);
  const { id } = await foreign.register(
    { type: confluent.SchemaType.AVRO, schema },
    { subject: subjectName() },
  );
  const value = await foreign.encode(id, { userId: 'u1', event: 'Order Completed' });
  assert.equal(schemaIdOf(value), id);
  const decode = createDecoder(await client.schemaOf(id));
  assert.deepEqual(decode(payloadOf(value)).object, { userId: 'u1', event: 'Order Completed' });
});

test('what another client encodes with JSON Schema is decoded here', async () => {
  const schema =
    '{"type":"object","properties":{"userId":{"type":"string"}},"required":["userId"]}';
  const { id } = await foreign.register(
    { type: confluent.SchemaType.JSON, schema },
    { subject: subjectName() },
  );
  const value = await foreign.encode(id, { userId: 'u1', more: [1] });
  const decode = createDecoder(await client.schemaOf(id));
  assert.deepEqual(decode(payloadOf(value)).object, { userId: 'u1', more: [1] });
});

test('a Protobuf schema is read, with what it refers to', async () => {
  const schema = 'syntax = "proto3"; package shop; message Call { string user_id = 1; }';
  const { id } = await foreign.register(
    { type: confluent.SchemaType.PROTOBUF, schema },
    { subject: subjectName() },
  );
  const decode = createDecoder(await client.schemaOf(id));
  const payload = Buffer.concat([Buffer.from([0, 10, 2]), Buffer.from('u1')]);
  assert.deepEqual(decode(payload).object, { userId: 'u1' });
});

test('an id that nobody registered is not found', async () => {
  await assert.rejects(client.schemaOf(2_000_000_000), { code: 'not-found' });
});

test('a registry is awake where its health says so, or where it knows a schema that it gave', async (t) => {
  const registry = await startRegistry();
  t.after(() => registry.stop());
  const own = new RegistryClient({ url: registry.url });
  const id = await registry.add(ingestSchema);
  assert.equal(await own.isAwake(undefined), true);
  registry.ready(false);
  await assert.rejects(own.isAwake(id), { code: 'registry-unavailable', message: /still reading/ });
  registry.ready(undefined);
  assert.deepEqual([await own.isAwake(id), await own.isAwake(undefined)], [true, false]);
  registry.forget(id);
  assert.equal(await own.isAwake(id), false);
});

test('the own schema is registered once, with its level, and is compatible with itself', async () => {
  const subject = subjectName();
  assert.equal(await checkSchema(client, subject), undefined);
  const { id, unseenBefore } = await registerSchema(client, subject);
  assert.equal(unseenBefore, true);
  assert.deepEqual(await registerSchema(client, subject), { id, unseenBefore: false });
  assert.equal(await client.levelOf(subject), 'BACKWARD');
  assert.deepEqual(await checkSchema(client, subject), { compatible: true, messages: [] });
  assert.deepEqual(createDecoder(await client.schemaOf(id))(Buffer.alloc(15)).object, {
    type: 'track',
    messageId: null,
    userId: null,
    anonymousId: null,
    timestamp: null,
    writeKey: null,
    event: null,
    name: null,
    category: null,
    groupId: null,
    previousId: null,
    properties: null,
    traits: null,
    context: null,
    integrations: null,
  });
});

test('a field with a default may be added, one without breaks and is named', async () => {
  const subject = subjectName();
  await registerSchema(client, subject, recordSchema(base));
  const extended = recordSchema(base, optional);
  assert.equal((await checkSchema(client, subject, extended))?.compatible, true);
  await registerSchema(client, subject, extended);
  const breaking = recordSchema(base, required);
  const checked = await checkSchema(client, subject, breaking);
  assert.equal(checked?.compatible, false);
  assert.match(checked.messages.join(' '), /\bm\b/);
  const expected = { code: 'schema-incompatible', message: /\bm\b/ };
  await assert.rejects(registerSchema(client, subject, breaking), expected);
  await assert.rejects(client.register(subject, breaking), expected);
});

test('a new required property of a JSON Schema breaks', async () => {
  const subject = subjectName();
  const schema = (...names: readonly string[]): string =>
    JSON.stringify({
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
      required: names,
      additionalProperties: false,
    });
  const type = confluent.SchemaType.JSON;
  await foreign.register({ type, schema: schema('y') }, { subject });
  const added = foreign.register({ type, schema: schema('y', 'z') }, { subject });
  await assert.rejects(added, { status: 409 });
});

test('postrider schemas: register and check say what they did, and what breaks', async () => {
  const subject = subjectName();
  const unseen = await command('schemas', 'check', '--subject', subject);
  const none = 'no such subject, or this login has no right to see it';
  const nothing = `nothing to compare with: the registry shows ${none}`;
  assert.deepEqual([unseen.code, unseen.stderr], [0, '']);
  assert.equal(unseen.stdout, `${subject}: ${nothing}\n`);
  const first = await command('schemas', 'register', '--subject', subject);
  assert.match(first.stdout, new RegExp(`^${subject} has the schema \\d+; before, .*${none}\n$`));
  assert.equal(first.code, 0);
  const again = await command('schemas', 'register', '--subject', subject);
  assert.match(again.stdout, new RegExp(`^${subject} has the schema \\d+\n$`));
  const checked = await command('schemas', 'check', '--subject', subject);
  assert.deepEqual([checked.code, checked.stderr], [0, '']);

  const other = subjectName();
  await registerSchema(client, other, recordSchema(base));
  for (const verb of ['check', 'register']) {
    const { code, stderr } = await command('schemas', verb, '--subject', other);
    assert.equal(code, 1);
    assert.match(
      stderr,
      new RegExp(`^postrider: The schema is not compatible .* ${other}: .+\\n$`),
    );
  }
});

test('postrider schemas: a registry that is away, and none, are one sentence', async () => {
  const env = { PATH: process.env['PATH'] ?? '' };
  const gone = await startRegistry();
  await gone.stop();
  const away = await runCommand(['schemas', 'check'], {
    ...env,
    SCHEMA_REGISTRY_URL: gone.url,
  });
  assert.equal(away.code, 1);
  assert.match(
    away.stderr,
    /^postrider: The schema registry at [^\n]* cannot be used: connect ECONNREFUSED [^\n]*\n$/,
  );
  const none = await runCommand(['schemas', 'check'], env);
  assert.equal(none.code, 1);
  assert.match(none.stderr, /^postrider: SCHEMA_REGISTRY_URL is not set, [^\n]*\n$/);
});

test('postrider schemas: a registry that still reads what was registered cannot say that a subject is new', async (t) => {
  const registry = await startRegistry();
  t.after(() => registry.stop());
  registry.ready(false);
  const env = { PATH: process.env['PATH'] ?? '', SCHEMA_REGISTRY_URL: registry.url };
  const { code, stdout, stderr } = await runCommand(['schemas', 'check'], env);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^postrider: The schema registry .* still reading what was registered\n$/);
});

test('a registry that refuses or fails is unavailable, not ignorant', async () => {
  const registry = await startRegistry();
  const own = new RegistryClient({ url: registry.url });
  const id = await registry.add(ingestSchema);
  registry.require('router', 'geheim');
  await assert.rejects(own.schemaOf(id), { code: 'registry-unavailable', message: /Unauthorized/ });
  const known = new RegistryClient({
    url: `${registry.url}/`,
    username: 'router',
    password: 'geheim',
  });
  assert.equal((await known.schemaOf(id)).schema, ingestSchema);
  registry.failWith(500);
  await assert.rejects(known.schemaOf(id), { code: 'registry-unavailable' });
  registry.failWith(undefined);
  // A wrong path answers 404 too, without a registry's own code.
  const astray = new RegistryClient({
    url: `${registry.url}/wrong`,
    username: 'router',
    password: 'geheim',
  });
  await assert.rejects(astray.schemaOf(id), { code: 'registry-unavailable' });
  await registry.stop();
  await assert.rejects(own.schemaOf(id), { code: 'registry-unavailable' });
});

test('an answer that is cut off in its middle is none, and nothing waits for its end', async (t) => {
  const registry = await startRegistry();
  t.after(() => registry.stop());
  const own = new RegistryClient({ url: registry.url }, 500);
  const id = await registry.add(ingestSchema);
  registry.cut(`/schemas/ids/${id}`);
  const expected = { code: 'registry-unavailable', message: /no answer in 0\.5 s/ };
  await assert.rejects(own.schemaOf(id), expected);
  registry.cut(undefined);
  assert.equal((await own.schemaOf(id)).schema, ingestSchema);
});

test('a 404 is believed in the words of a registry, and in no others', async (t) => {
  let body = '';
  const server = createServer((_request, response) => {
    response.writeHead(404, { 'Content-Type': 'application/json' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const own = new RegistryClient({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  const answers: [body: string, code: string][] = [
    ['{"error_code":40403,"message":"Schema not found"}', 'not-found'],
    ['{"error_code":40403,"message":"Schema 7 not found"}', 'not-found'],
    [
      `{"error_code":40403,"message":"No content with id/hash 'contentId-7' was found."}`,
      'not-found',
    ],
    ['{"error_code":404,"message":"HTTP 404 Not Found"}', 'registry-unavailable'],
    ['{"detail":"Not Found"}', 'registry-unavailable'],
    ['<html><title>The content was not found</title></html>', 'registry-unavailable'],
    ['', 'registry-unavailable'],
    // What is no object, and what no text can be made of.
    ['null', 'registry-unavailable'],
    ['[null]', 'registry-unavailable'],
    ['{"message":null}', 'registry-unavailable'],
    ['{"message":{"toString":1,"valueOf":1}}', 'registry-unavailable'],
    ['{"toString":1,"valueOf":1}', 'registry-unavailable'],
  ];
  for (const [answer, code] of answers) {
    body = answer;
    await assert.rejects(own.schemaOf(7), { code }, answer);
  }
});

test('references are fetched with their own references, each once', async () => {
  const registry = await startRegistry();
  const named = (name: string, fields: readonly object[]): string =>
    JSON.stringify({ type: 'record', name, namespace: 'a', fields });
  await registry.add(named('Id', [{ name: 'v', type: 'string' }]));
  const toId = { name: 'a.Id', subject: 'added-1', version: 1 };
  await registry.add(named('User', [{ name: 'id', type: 'a.Id' }]), 'AVRO', [toId]);
  const toUser = { name: 'a.User', subject: 'added-2', version: 1 };
  const call = named('Call', [
    { name: 'user', type: 'a.User' },
    { name: 'other', type: 'a.Id' },
  ]);
  const id = await registry.add(call, 'AVRO', [toUser, toId]);
  const schema = await new RegistryClient({ url: registry.url }).schemaOf(id);
  assert.deepEqual(
    schema.references.map(({ name }) => name),
    ['a.Id', 'a.User'],
  );
  assert.equal(registry.requests.length, 3);
  const { object } = createDecoder(schema)(Buffer.from('\u0002x\u0002y'));
  assert.deepEqual(object, { user: { id: { v: 'x' } }, other: { v: 'y' } });
  await registry.stop();
});

test('a reference that is not answered with a schema leaves the registry unavailable', async (t) => {
  const registry = await startRegistry();
  t.after(() => registry.stop());
  await registry.add('{"type":"record","name":"Id","fields":[]}');
  const id = await registry.add('{"type":"array","items":"Id"}', 'AVRO', [
    { name: 'Id', subject: 'added-1', version: 1 },
  ]);
  const own = new RegistryClient({ url: registry.url });
  registry.hide('/subjects/added-1/versions/1');
  await assert.rejects(own.schemaOf(id), { code: 'registry-unavailable', message: /"Id"/ });
  registry.hide(undefined);
  assert.equal((await own.schemaOf(id)).references.length, 1);
  const lacking = await registry.add('{"type":"map","values":"Gone"}', 'AVRO', [
    { name: 'Gone', subject: 'gone', version: 1 },
  ]);
  await assert.rejects(own.schemaOf(lacking), {
    code: 'registry-unavailable',
    message: /"Gone".*Subject 'gone' not found/,
  });
});

test('a reference whose subject was deleted is found all the same', async (t) => {
  const registry = await startRegistry();
  t.after(() => registry.stop());
  await registry.add('{"type":"record","name":"Id","fields":[]}');
  const reference = { name: 'Id', subject: 'added-1', version: 1 };
  const id = await registry.add('{"type":"array","items":"Id"}', 'AVRO', [reference]);
  registry.deleteSubject('added-1');
  const { references } = await new RegistryClient({ url: registry.url }).schemaOf(id);
  assert.deepEqual(
    references.map(({ name }) => name),
    ['Id'],
  );
});

test('a schema of a type that is unknown here is known, and cannot be used', async (t) => {
  const registry = await startRegistry();
  t.after(() => registry.stop());
  const id = await registry.add('struct Call {}', 'THRIFT');
  const schema = await new RegistryClient({ url: registry.url }).schemaOf(id);
  assert.throws(() => createDecoder(schema), /THRIFT/);
});
