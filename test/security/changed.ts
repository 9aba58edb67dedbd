import assert from 'node:assert/strict';
import { symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { before, suite, test } from 'node:test';
import { createContext, type Context } from '../../src/cli/context.ts';
import { withAdmin } from '../../src/kafka/admin.ts';
import { makeAuthority, makeCertificate } from '../delivery/http/certificates.ts';
import { eventually } from '../harness/eventually.ts';
import { mountSecret, type MountedSecret } from '../harness/mounted-secret.ts';
import { install, type Installation } from '../harness/postrider.ts';
import { everything, passwordOf, securedBroker, type SecuredBroker } from './secured-broker.ts';
import { setScramPassword } from './scram-password.ts';

/** Logins and certificates that are changed while processes run. */

type Env = Readonly<Record<string, string>>;

let broker: SecuredBroker;
let postrider: Installation;

before(async () => {
  broker = await securedBroker();
  postrider = await install({
    KAFKA_BROKERS: broker.open,
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA_FILE: broker.authorityFile,
  });
  await postrider.run(['topics', '--create'], { env: { KAFKA_SSL: '', KAFKA_SSL_CA_FILE: '' } });
});

function mountedSecret(name: string, files: Env): Promise<MountedSecret> {
  return mountSecret(join(dirname(broker.authorityFile), name), files);
}

async function reaches({ kafka }: Context): Promise<void> {
  await withAdmin(kafka, (admin) => admin.brokerCount());
}

/** Told at once, where others try for a while. */
async function isRefused(context: Context): Promise<void> {
  await assert.rejects(async () => context.reachKafka(), { code: 'setting-invalid' });
}

suite('what Kafka is reached with changes', { concurrency: true }, () => {
  test('a role whose password is changed while it runs waits for the new one, and goes on with it', async (t) => {
    const user = 'changing';
    await setScramPassword(broker.open, user, 'first');
    await broker.allow(user, everything);
    const secret = await mountedSecret('login', { password: 'first' });
    const env = {
      KAFKA_BROKERS: broker.reauthenticating,
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: user,
      KAFKA_SASL_PASSWORD_FILE: secret.path('password'),
    };
    const gateway = await postrider.start('gateway', env);
    t.after(() => gateway.kill('SIGKILL'));
    const log = (): string => gateway.log();

    await setScramPassword(broker.open, user, 'second');
    await eventually(() => {
      assert.match(
        log(),
        /SASL SCRAM SHA512 authentication failed: .* re-authentication due to invalid/,
      );
    });
    const isFresh = async (): Promise<boolean> =>
      /^postrider_config_fresh 1$/m.test(await (await fetch(`${gateway.url}/metrics`)).text());
    await eventually(async () => {
      assert.equal(await isFresh(), false);
    });
    await secret.change({ password: 'third\n' });
    await eventually(() => {
      assert.match(log(), /KAFKA_SASL_PASSWORD_FILE changed; new connections use it/);
    });
    await secret.change({ password: 'second\n' });
    await eventually(async () => {
      assert.equal(await isFresh(), true);
    });
    assert.equal(await gateway.kill('SIGTERM'), 0, log());
  });

  test('a login is renewed on connections that are open, as often as the broker wants', async (t) => {
    const env = {
      KAFKA_BROKERS: broker.reauthenticating,
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: 'app',
      KAFKA_SASL_PASSWORD: passwordOf('app'),
    };
    const router = await postrider.start('router', env);
    t.after(() => router.kill('SIGKILL'));
    const beganMs = Date.now();
    await eventually(() => {
      assert.ok(Date.now() - beganMs > 1.2 * broker.reauthenticateMs);
    }, 60_000);
    assert.equal(await router.kill('SIGTERM'), 0);
    const warnings = router
      .log()
      .split('\n')
      .filter((line) => /"level":[45]0/.test(line) && !line.includes('expires soon'));
    assert.deepEqual(warnings, []);
  });

  test('new connections show the client certificate that is there then; one without its key changes nothing', async () => {
    const [good, stranger] = [broker.clientAuthority, makeAuthority('Stranger')].map((by) =>
      makeCertificate({ name: 'app', by }),
    );
    assert.ok(good && stranger);
    const secret = await mountedSecret('client', { 'tls.crt': good.cert, 'tls.key': good.key });
    const context = createContext({
      ...postrider.environment,
      KAFKA_BROKERS: broker.mutual,
      LOG_LEVEL: 'error',
      KAFKA_SSL_CERT_FILE: secret.path('tls.crt'),
      KAFKA_SSL_KEY_FILE: secret.path('tls.key'),
    });
    await reaches(context);
    await secret.change({ 'tls.crt': stranger.cert, 'tls.key': stranger.key });
    context.credentials.look();
    await isRefused(context);
    await secret.change({ 'tls.crt': good.cert.slice(0, -100), 'tls.key': good.key });
    context.credentials.look();
    await isRefused(context);
    await secret.change({ 'tls.crt': good.cert, 'tls.key': good.key });
    context.credentials.look();
    await reaches(context);
  });

  test('while an authority is replaced, brokers of both are trusted where both are in the folder', async () => {
    const next = makeAuthority('Next Authority').cert;
    const { authority } = broker;
    const secret = await mountedSecret('authorities', { 'ca.crt': authority, 'ca.password': 'x' });
    const context = createContext({
      ...postrider.environment,
      KAFKA_BROKERS: broker.tls,
      LOG_LEVEL: 'error',
      KAFKA_SSL_CA_FILE: dirname(secret.path('ca.crt')),
    });
    await reaches(context);
    await secret.change({ 'ca.crt': next, 'ca.password': 'x' });
    context.credentials.look();
    await isRefused(context);
    // As Strimzi does it.
    await secret.change({ 'ca.crt': next, 'ca-2026.crt': authority, 'ca.password': 'x' });
    await symlink('..data/ca-2026.crt', secret.path('ca-2026.crt'));
    context.credentials.look();
    await reaches(context);
  });
});
