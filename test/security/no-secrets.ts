import assert from 'node:assert/strict';
import { request } from 'node:https';
import { after, before, test } from 'node:test';
import { inspect } from 'node:util';
import { createContext } from '../../src/cli/context.ts';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { PostriderError } from '../../src/errors.ts';
import { makeAuthority, makeCertificate } from '../delivery/http/certificates.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';
import { startRegistry, type TestRegistry } from '../harness/registry.ts';
import { passwordOf, securedBroker, type SecuredBroker } from './secured-broker.ts';

/** Each stands in one place only, so that whatever prints it is known at once. */
const secrets = {
  sharedSecret: 'shared-secret-zq1',
  headerValue: 'header-value-zq2',
  queryToken: 'query-token-zq3',
  saslPassword: passwordOf('app'),
  wrongPassword: 'wrong-password-zq5',
  registryPassword: 'registry-password-zq6',
  urlPassword: 'url-password-zq7',
  secretKey: Buffer.from('secret-key-of-32-bytes-......zq8').toString('base64'),
  previousKey: Buffer.from('previous-key-of-32-bytes-....zq9').toString('base64'),
  shortKey: Buffer.from('not-a-key-zq10').toString('base64'),
  writeKey: 'write-key-zq11',
  user: 'user-zq12',
  property: 'property-zq13',
  databasePassword: 'database-password-zq14',
  pathToken: 'path-token-zq15',
  formerSecret: 'former-secret-zq16',
  clientSecret: 'client-secret-zq17',
};
/** By design in what these print: names, and the URLs of endpoints as they are configured. */
const shownByGet: readonly string[] = [secrets.writeKey, secrets.queryToken];

const { cert, key } = makeCertificate({ by: makeAuthority('Gateway Authority') });
/** A line out of its middle, as any encoding of the file would keep it. */
const keyLine = key.split('\n')[5]?.trim() ?? '';

let broker: SecuredBroker;
let registry: TestRegistry;
let receiver: Receiver;
let postrider: Installation;
/** All that anything has printed or answered, with what it was. */
const said: { readonly by: string; readonly text: string }[] = [];

before(async () => {
  broker = await securedBroker();
  registry = await startRegistry();
  registry.require('registry-user', secrets.registryPassword);
  receiver = await startReceiver({
    port: 0,
    answer: ({ path }) =>
      path.startsWith('/hangs') ? { status: 200, delayMs: 500 } : { status: 400 },
  });
  postrider = await install({
    KAFKA_BROKERS: broker.sasl,
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA_FILE: broker.authorityFile,
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: 'app',
    KAFKA_SASL_PASSWORD: secrets.saslPassword,
    SCHEMA_REGISTRY_URL: registry.url,
    SCHEMA_REGISTRY_USERNAME: 'registry-user',
    SCHEMA_REGISTRY_PASSWORD: secrets.registryPassword,
    SECRET_KEY: secrets.secretKey,
    SECRET_KEY_PREVIOUS: secrets.previousKey,
    GATEWAY_TLS_CERT_FILE: await broker.file('gateway.cert.pem', cert),
    GATEWAY_TLS_KEY_FILE: await broker.file('gateway.key.pem', key),
    DELIVERY_TIMEOUT: '100ms',
    LOG_LEVEL: 'debug',
  });
  await run(['topics', '--create']);
});

after(async () => {
  await Promise.all([receiver.close(), registry.stop()]);
});

/** With `--verbose`, so that stacks are seen too. */
async function run(
  args: readonly string[],
  stdin: string = '',
  env: Readonly<Record<string, string>> = {},
): Promise<number | null> {
  const { code, stdout, stderr } = await postrider.run(['--verbose', ...args], { stdin, env });
  said.push({ by: args.join(' '), text: stdout + stderr });
  return code;
}

function destination(id: string, url: string, more: object = {}): object {
  const { sharedSecret, headerValue } = secrets;
  const webhooks = [{ url, headers: { 'X-Token': headerValue } }];
  return { kind: 'Destination', id, name: id, sources: ['shop'], sharedSecret, webhooks, ...more };
}

function documents(...resources: readonly object[]): string {
  return resources.map((each) => JSON.stringify(each)).join('\n---\n');
}

const shop = { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: [secrets.writeKey] };

async function send(gateway: RunningRole, path: string, body: string): Promise<void> {
  const auth = `${secrets.writeKey}:`;
  await new Promise<void>((resolve, reject) => {
    const options = { method: 'POST', auth, rejectUnauthorized: false };
    const sent = request(`${gateway.gatewayUrl}${path}`, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        // Whoever sent a call that is rejected is told why, with what they sent.
        if (response.statusCode !== 200) said.push({ by: `gateway ${path}`, text });
        resolve();
      });
    });
    sent.on('error', reject).end(body);
  });
}

function expectSilence(): void {
  for (const { by, text } of said) {
    for (const [name, secret] of Object.entries({ ...secrets, keyLine })) {
      if (by.startsWith('get ') && shownByGet.includes(secret)) continue;
      const spellings = [secret, Buffer.from(secret).toString('base64').slice(0, -4)];
      for (const each of spellings) assert.ok(!text.includes(each), `${name} by ${by}:\n${text}`);
    }
  }
}

test('commands that fail and commands that answer show no secret', async () => {
  const secretUrl = `${receiver.url}/refuses/${secrets.pathToken}`;
  const hanging = destination('hanging', `${receiver.url}/hangs?token=${secrets.queryToken}`, {
    signature: 'both',
  });
  const before = { ...hanging, sharedSecret: secrets.formerSecret };
  const { clientSecret } = secrets;
  const oauth2 = { tokenUrl: `${receiver.url}/token`, clientId: 'postrider', clientSecret };
  const clientCertificate = { certificate: cert, privateKey: key };
  const behindLogin = destination('login', `${receiver.url}/login`, {
    webhooks: [
      { url: `${receiver.url}/login`, oauth2 },
      { url: 'https://127.0.0.1:1/', clientCertificate },
    ],
  });
  const good = documents(
    shop,
    destination('refusing', `${receiver.url}/refuses?token=${secrets.queryToken}`),
    hanging,
    destination('gone', `http://127.0.0.1:1/?token=${secrets.queryToken}`),
    destination('chat', secretUrl, { secretUrl: true }),
    behindLogin,
    { kind: 'NoticeHook', id: 'team', name: 'Team', url: secretUrl },
  );
  assert.equal(await run(['apply', '-f', '-'], documents(shop, before)), 0);
  assert.equal(await run(['apply', '-f', '-'], good), 0);
  const { headerValue, urlPassword, databasePassword } = secrets;
  const database = `postgres://reader:${databasePassword}@127.0.0.1:1/shop`;
  const members = { postgres: database, query: 'select id from members' };
  const audience = { kind: 'Audience', id: 'big', name: 'Big', source: 'shop', members };
  assert.equal(await run(['apply', '-f', '-'], documents(audience)), 0);
  assert.equal(await run(['audience-sync', 'big']), 1);
  const moved = { ...audience, members: { file: 'members.csv', userId: 'id' } };
  const changed = destination('refusing', `${receiver.url}/?token=${secrets.queryToken}`, {
    sharedSecret: secrets.headerValue,
    webhooks: [
      { url: `${receiver.url}/?other=${secrets.queryToken}`, headers: { 'X-New': headerValue } },
      { url: `http://127.0.0.1:2/?token=${secrets.queryToken}`, headers: { 'X-New': headerValue } },
    ],
  });
  const renewed = { ...shop, writeKeys: [] };
  const elsewhere = { kind: 'NoticeHook', id: 'team', name: 'Team', url: `${secretUrl}/b` };
  const differing = documents(renewed, moved, changed, elsewhere);
  for (const format of ['table', 'yaml', 'json'])
    assert.equal(await run(['diff', '-o', format, '-f', '-'], differing), 3);
  const wrong: readonly string[] = [
    documents({ ...audience, members: { ...members, postgres: [database] } }),
    documents({ ...audience, members: { ...members, unknown: database } }),
    documents(destination('a', `https://user:${urlPassword}@crm.example.com/`)),
    documents(destination('a', 'https://crm.example.com/', { sharedSecret: [headerValue] })),
    documents(destination('a', 'https://crm.example.com/', { unknown: headerValue })),
    documents({ ...destination('a', `ftp://${urlPassword}`), webhooks: { 'X-Y': headerValue } }),
    `kind: Destination\nsharedSecret: [${headerValue}\nwebhooks: {`,
    `kind: Destination\nsharedSecret: "${headerValue}\\q"`,
    documents(
      destination('a', 'https://x.example/', {
        webhooks: [{ url: 'https://x.example/', headers: { 'X-A': `${headerValue}\n` } }],
      }),
    ),
  ];
  const files = await Promise.all(wrong.map((text, i) => broker.file(`wrong-${i}.yaml`, text)));
  assert.equal(await run(['apply', '-f', ...files]), 1);
  for (const file of files) assert.ok(said.at(-1)?.text.includes(`${file}:`), file);
  for (const format of ['table', 'yaml', 'json']) {
    assert.equal(await run(['get', 'destination', '-o', format]), 0);
    assert.equal(await run(['get', 'notice-hook', '-o', format]), 0);
    assert.match(said.at(-1)?.text ?? '', /http:\/\/127\.0\.0\.1:\d+\/#[0-9a-f]{8}\b/);
  }
  assert.equal(await run(['get', 'source']), 0);
  assert.equal(await run(['get', 'audience', '-o', 'yaml']), 0);
  assert.equal(await run(['send-test', 'refusing']), 1);
  assert.equal(await run(['send-test', 'chat']), 1);
  assert.equal(await run(['send-test', 'login']), 1);
  assert.equal(await run(['secrets', 'rotate']), 0);
  expectSilence();
});

test('settings that are wrong are told without their secrets', async () => {
  const { shortKey, wrongPassword, urlPassword } = secrets;
  const wrong: readonly Readonly<Record<string, string>>[] = [
    { SECRET_KEY: shortKey },
    { SECRET_KEY_PREVIOUS: shortKey },
    { KAFKA_SASL_PASSWORD: wrongPassword },
    { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_PASSWORD: wrongPassword },
    { KAFKA_SASL_USERNAME: '' },
    { KAFKA_BROKERS: `app:${urlPassword}@kafka.example:9092` },
    { SCHEMA_REGISTRY_URL: `https://user:${urlPassword}@registry.example/` },
    { SCHEMA_REGISTRY_USERNAME: '' },
    { DELIVERY_PROXY: `https://user:${urlPassword}@proxy.example` },
  ];
  for (const env of wrong) {
    const context = createContext({ ...postrider.environment, ...env });
    await assert.rejects(
      async () => context.reachKafka(),
      (error) => {
        // More than any output: with all causes and everything that hangs on them.
        said.push({ by: Object.keys(env).join(), text: inspect(error, { depth: 10 }) });
        return error instanceof PostriderError;
      },
    );
  }
  const otherKey = Buffer.alloc(32, 9).toString('base64');
  for (const [role, env] of [
    ['gateway', { KAFKA_SASL_PASSWORD: wrongPassword }],
    ['delivery', { SECRET_KEY: otherKey, SECRET_KEY_PREVIOUS: '' }],
    ['gateway', { GATEWAY_TLS_CERT_FILE: await broker.file('key-for-cert.pem', key) }],
  ] as const) {
    assert.equal(await run([role], '', env), 1, JSON.stringify(env));
  }
  expectSilence();
});

test('roles show no secret and nothing of a call, in their logs and by their ops servers', async () => {
  const [gateway, router, delivery] = await Promise.all([
    postrider.start('gateway'),
    postrider.start('router'),
    postrider.start('delivery'),
  ]);
  const { user, property } = secrets;
  const call = { userId: user, event: 'E', properties: { property } };
  await send(gateway, '/v1/track', JSON.stringify(call));
  await send(gateway, '/v1/track', JSON.stringify({ ...call, timestamp: property }));
  await send(gateway, '/v1/track', `{"userId":"${user}","event":${property}`);
  await send(gateway, '/v1/batch', JSON.stringify({ batch: [{ type: property }, property] }));
  await run(['produce', '--source', 'shop'], `${JSON.stringify({ ...call, type: 'track' })}\n`);
  await eventually(async () => {
    const metrics = await (await fetch(`${delivery.url}/metrics`)).text();
    assert.match(metrics, /postrider_delivery_requests_total\{.*status-4|http-4xx.*\} [1-9]/);
    assert.match(delivery.log(), /no complete answer in time/);
    assert.match(delivery.log(), /the breaker|event given up/);
  });
  for (const [name, role] of Object.entries({ gateway, router, delivery })) {
    for (const path of ['/metrics', '/livez', '/readyz', '/nothing']) {
      said.push({ by: name + path, text: await (await fetch(`${role.url}${path}`)).text() });
    }
    assert.equal(await role.kill('SIGTERM'), 0);
    said.push({ by: `${name}'s log`, text: role.log() });
  }
  assert.match(router.log(), /"KAFKA_SASL_PASSWORD":"set"/);
  expectSilence();
});
