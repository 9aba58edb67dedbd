import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createCredentials, type Credentials } from '../../../src/cli/connect/credentials.ts';
import { followCredentials } from '../../../src/cli/roles/follow-credentials.ts';
import type { PostriderError } from '../../../src/errors.ts';
import { createMetrics } from '../../../src/ops/metrics.ts';
import { readSettings } from '../../../src/settings/read.ts';
import { makeAuthority, makeCertificate } from '../../delivery/http/certificates.ts';
import { mountSecret, type MountedSecret } from '../../harness/mounted-secret.ts';
import { FakeLogger } from '../../kafka/fake-logger.ts';

type Env = Readonly<Record<string, string>>;

const dayMs = 86_400_000;
const authority = makeAuthority('Authority', { validDays: [-1, 300] });
const next = makeAuthority('Next', { validDays: [-1, 900] });
const client = makeCertificate({ by: authority, validDays: [-1, 30] });
const renewed = makeCertificate({ by: authority, validDays: [-1, 90] });
const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

interface Scene {
  readonly secret: MountedSecret;
  readonly credentials: Credentials;
  readonly log: FakeLogger;
}

async function following(
  t: TestContext,
  files: Env,
  settings: (path: MountedSecret['path']) => Env,
): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-test-'));
  t.after(() => rm(folder, { recursive: true }));
  const secret = await mountSecret(join(folder, 'secret'), files);
  const env = settings(secret.path);
  const log = new FakeLogger();
  return { secret, credentials: createCredentials(readSettings(env), env, log), log };
}

function pairSettings(path: MountedSecret['path']): Env {
  const files = { KAFKA_SSL_CERT_FILE: path('tls.crt'), KAFKA_SSL_KEY_FILE: path('tls.key') };
  return { KAFKA_SSL: 'true', ...files };
}

const pair = { 'tls.crt': client.cert, 'tls.key': client.key };

test('a certificate and its key are followed together, as one that was exchanged', async (t) => {
  const { secret, credentials, log } = await following(t, pair, pairSettings);
  assert.equal(String(credentials.kafkaTls().cert), client.cert);
  await secret.change({ ...pair, 'tls.crt': renewed.cert });
  credentials.look();
  assert.equal(String(credentials.kafkaTls().cert), renewed.cert);
  assert.deepEqual(log.visible, [
    'info: KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE changed; new connections use it {}',
  ]);
});

for (const [what, files, says] of [
  ['a key of another certificate', { ...pair, 'tls.key': otherKey }, /is not the private key of/],
  ['no key yet', { 'tls.crt': renewed.cert }, /tls\.key", which does not exist/],
  ['half a key', { ...pair, 'tls.key': client.key.slice(0, 700) }, /no private key in PEM/],
  [
    'half a chain',
    { ...pair, 'tls.crt': renewed.cert + authority.cert.slice(0, 500) },
    /tls\.crt", which holds only a part of a certificate/,
  ],
  ['nothing at all', { 'tls.crt': '', 'tls.key': '' }, /tls\.crt", which is empty/],
] as const)
  test(`with ${what} the former pair stays in use, and the log says so once`, async (t) => {
    const { secret, credentials, log } = await following(t, pair, pairSettings);
    credentials.kafkaTls();
    await secret.change(files);
    for (let looks = 0; looks < 3; looks += 1) credentials.look();
    const { cert, key } = credentials.kafkaTls();
    assert.deepEqual([String(cert), String(key)], [client.cert, client.key]);
    assert.equal(log.visible.length, 1);
    assert.match(log.visible.join(), says);
    assert.match(log.visible.join(), /^warn: KAFKA_SSL_.*; what was read before stays in use/);
    await secret.change({ ...pair, 'tls.crt': renewed.cert });
    credentials.look();
    assert.equal(String(credentials.kafkaTls().cert), renewed.cert);
  });

test('at the first look, files that cannot be used are an error', async (t) => {
  const files = { ...pair, 'tls.key': otherKey };
  const { credentials } = await following(t, files, pairSettings);
  assert.throws(
    () => credentials.kafkaTls(),
    ({ code }: PostriderError) => code === 'setting-invalid',
  );
});

test('each file that cannot be used is told with its setting, its path and what is wrong', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-test-'));
  t.after(() => rm(folder, { recursive: true }));
  const named = { crt: client.cert, key: client.key, empty: '', text: 'no PEM', other: otherKey };
  for (const [name, text] of Object.entries(named)) await writeFile(join(folder, name), text);
  await mkdir(join(folder, 'folder'));
  await mkdir(join(folder, 'nested', 'a.crt'), { recursive: true });
  await symlink('loop', join(folder, 'loop'));
  const isNoFile = 'is a folder; allowed: a file';
  const settings = ['KAFKA_SSL_CA_FILE', 'KAFKA_SSL_CERT_FILE', 'KAFKA_SSL_KEY_FILE'] as const;
  const [ca, cert, key] = settings;
  const cases: [setting: (typeof settings)[number], name: string, says: string][] = [
    ...settings.flatMap((setting): typeof cases => [
      [setting, 'gone', 'does not exist'],
      [setting, 'crt/gone', 'does not exist'],
      [setting, 'empty', 'is empty'],
      [setting, 'loop', 'cannot be read (ELOOP)'],
      [setting, 'n'.repeat(300), 'cannot be read (ENAMETOOLONG)'],
    ]),
    [ca, 'folder', 'is a folder without files *.crt or *.pem'],
    [ca, 'nested', isNoFile],
    [ca, 'text', 'holds no certificate in PEM'],
    [cert, 'folder', isNoFile],
    [cert, 'text', 'holds no certificate in PEM'],
    [key, 'folder', isNoFile],
    [key, 'text', 'holds no private key in PEM without a passphrase'],
    [key, 'other', `is not the private key of ${cert}`],
  ];
  for (const [setting, name, says] of cases) {
    const own = { [cert]: join(folder, 'crt'), [key]: join(folder, 'key') };
    const path = join(folder, name);
    const env = { KAFKA_SSL: 'true', ...own, [setting]: path };
    const credentials = createCredentials(readSettings(env), env, new FakeLogger());
    assert.throws(() => credentials.kafkaTls(), {
      code: 'setting-invalid',
      message: `${setting} names "${name === 'nested' ? join(path, 'a.crt') : path}", which ${says}`,
    });
  }
});

test('authorities that cannot be looked at any more stay in use, and the log names the setting', async (t) => {
  const { secret, credentials, log } = await following(t, { 'ca.crt': authority.cert }, (path) => ({
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA_FILE: path('ca.crt'),
  }));
  const { ca } = credentials.kafkaTls();
  const path = secret.path('ca.crt');
  await rm(path);
  await symlink(path, path);
  for (let looks = 0; looks < 3; looks += 1) credentials.look();
  assert.equal(credentials.kafkaTls().ca, ca);
  assert.deepEqual(log.visible, [
    `warn: KAFKA_SSL_CA_FILE names "${path}", which cannot be read (ELOOP); what was read before stays in use {}`,
  ]);
});

test('a password is read from its file again, and an empty file changes nothing', async (t) => {
  const { secret, credentials, log } = await following(t, { password: 'one\n' }, (path) => ({
    KAFKA_SASL_MECHANISM: 'plain',
    KAFKA_SASL_USERNAME: 'app',
    KAFKA_SASL_PASSWORD_FILE: path('password'),
  }));
  assert.equal(credentials.kafkaPassword(), 'one');
  await secret.change({ password: '' });
  credentials.look();
  assert.equal(credentials.kafkaPassword(), 'one');
  await secret.change({ password: 'two' });
  credentials.look();
  assert.equal(credentials.kafkaPassword(), 'two');
  assert.match(log.visible.join('\n'), /PASSWORD_FILE names ".*", which is empty; what was read/);
  assert.doesNotMatch(log.visible.join(), /one|two/);
});

test('a folder of authorities is one bundle, which expires with the last of them', async (t) => {
  const files = { 'ca.crt': authority.cert.trimEnd(), 'ca.password': 'x', 'old.crt': next.cert };
  const { credentials } = await following(t, files, (path) => ({
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA_FILE: path(''),
  }));
  const { ca = '' } = credentials.kafkaTls();
  for (const { cert } of [authority, next])
    assert.ok(String(ca).includes(cert.replaceAll('\r', '').trim()));
  const [[name, expiresMs] = ['', 0]] = credentials.expiriesMs();
  assert.equal(name, 'kafka-ca');
  assert.ok(Math.abs(expiresMs - Date.now() - 900 * dayMs) < dayMs);
});

test('metrics tell when each certificate expires, and the log says once that one does soon', async (t) => {
  const soon = makeCertificate({ by: authority, validDays: [-1, 5] }, authority);
  const files = { 'tls.crt': soon.cert, 'tls.key': soon.key, 'ca.crt': authority.cert };
  const { credentials, log } = await following(t, files, (path) => ({
    GATEWAY_TLS_CERT_FILE: path('tls.crt'),
    GATEWAY_TLS_KEY_FILE: path('tls.key'),
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA_FILE: path('ca.crt'),
  }));
  credentials.kafkaTls();
  const metrics = createMetrics();
  const followed = followCredentials(credentials, { metrics, log, onGatewayTls: () => undefined });
  t.after(() => {
    followed.stop();
  });
  const told = await metrics.getSingleMetricAsString(
    'postrider_certificate_expires_timestamp_seconds',
  );
  const daysOf = (name: string): number => {
    const [, seconds = ''] = new RegExp(`certificate="${name}"} (\\d+)`).exec(told) ?? [];
    return Math.round((Number(seconds) * 1_000 - Date.now()) / dayMs);
  };
  assert.deepEqual([daysOf('gateway'), daysOf('kafka-ca')], [5, 300]);
  assert.equal(log.visible.length, 1);
  assert.match(log.visible.join(), /^warn: a certificate expires soon.*"certificate":"gateway"/);
});
