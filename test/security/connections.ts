import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { before, suite, test } from 'node:test';
import { createContext } from '../../src/cli/context.ts';
import type { PostriderError } from '../../src/errors.ts';
import { withAdmin } from '../../src/kafka/admin.ts';
import { makeAuthority, makeCertificate } from '../delivery/http/certificates.ts';
import { install, type Installation } from '../harness/postrider.ts';
import { passwordOf, securedBroker, type SecuredBroker } from './secured-broker.ts';

/** How a client and a broker that do not fit are told, and those that do work. */

const password = passwordOf('app');
let broker: SecuredBroker;
let postrider: Installation;

type Env = Readonly<Record<string, string>>;
const login: Env = {
  KAFKA_SASL_MECHANISM: 'scram-sha-512',
  KAFKA_SASL_USERNAME: 'app',
  KAFKA_SASL_PASSWORD: password,
};

function tls(more: Env = {}): Env {
  return { KAFKA_SSL: 'true', KAFKA_SSL_CA_FILE: broker.authorityFile, ...more };
}

/** A client certificate of the principal `app`, as settings. */
async function certificateOf(
  name: string,
  wanted: Parameters<typeof makeCertificate>[0],
): Promise<Env> {
  const { cert, key } = makeCertificate({ name: 'app', ...wanted });
  return {
    KAFKA_SSL_CERT_FILE: await broker.file(`${name}.cert.pem`, cert),
    KAFKA_SSL_KEY_FILE: await broker.file(`${name}.key.pem`, key),
  };
}

before(async () => {
  broker = await securedBroker();
  postrider = await install({ KAFKA_BROKERS: broker.open });
  await postrider.run(['topics', '--create']);
});

suite('Kafka is used', () => {
  const ways: Readonly<Record<string, () => Promise<Env> | Env>> = {
    'over TLS': () => tls({ KAFKA_BROKERS: broker.tls }),
    'with a client certificate': async () =>
      tls({
        KAFKA_BROKERS: broker.mutual,
        ...(await certificateOf('client', { by: broker.clientAuthority })),
      }),
    'with SCRAM-SHA-512 over TLS': () => tls({ KAFKA_BROKERS: broker.sasl, ...login }),
    'with PLAIN over TLS': () =>
      tls({ KAFKA_BROKERS: broker.sasl, ...login, KAFKA_SASL_MECHANISM: 'plain' }),
    'with SCRAM-SHA-512 and the password in a file': async () => {
      const file = await broker.file('password', `${password}\n`);
      const { KAFKA_SASL_PASSWORD, ...others } = login;
      assert.equal(KAFKA_SASL_PASSWORD, password);
      return tls({ KAFKA_BROKERS: broker.sasl, ...others, KAFKA_SASL_PASSWORD_FILE: file });
    },
  };
  for (const [way, envOf] of Object.entries(ways)) {
    test(way, async () => {
      const context = createContext({ ...postrider.environment, ...(await envOf()) });
      await context.reachKafka();
      const topics = await withAdmin(context.kafka, (admin) => admin.topicNames());
      assert.ok(topics.includes(`${context.settings.topicPrefix}ingest`));
    });
  }

  for (const way of ['with a client certificate', 'with SCRAM-SHA-512 over TLS']) {
    test(`${way}, by a command and by a role`, async () => {
      const env = await ways[way]?.();
      const { code, stdout, stderr } = await postrider.run(['topics', '--check'], {
        env: env ?? {},
      });
      assert.deepEqual([code, stderr], [0, '']);
      assert.match(stdout, /ingest +ok/);
      const router = await postrider.start('router', env);
      assert.equal(await router.kill('SIGTERM'), 0, router.log());
    });
  }
});

suite('what keeps Kafka from being used is told in one sentence', () => {
  const wrong: Readonly<Record<string, readonly [() => Promise<Env> | Env, RegExp]>> = {
    'a wrong password': [
      () => tls({ KAFKA_BROKERS: broker.sasl, ...login, KAFKA_SASL_PASSWORD: 'wr0ng' }),
      /refuses the login with KAFKA_SASL_USERNAME "app": the name, KAFKA_SASL_PASSWORD or KAFKA_SASL_MECHANISM is wrong/,
    ],
    'a wrong password by PLAIN': [
      () =>
        tls({
          KAFKA_BROKERS: broker.sasl,
          ...login,
          KAFKA_SASL_PASSWORD: 'wr0ng',
          KAFKA_SASL_MECHANISM: 'plain',
        }),
      /refuses the login with KAFKA_SASL_USERNAME "app"/,
    ],
    'a name that nobody has': [
      () => tls({ KAFKA_BROKERS: broker.sasl, ...login, KAFKA_SASL_USERNAME: 'nobody' }),
      /refuses the login with KAFKA_SASL_USERNAME "nobody"/,
    ],
    'a mechanism that is not offered': [
      () => tls({ KAFKA_BROKERS: broker.sasl, ...login, KAFKA_SASL_MECHANISM: 'scram-sha-256' }),
      /does not offer KAFKA_SASL_MECHANISM scram-sha-256/,
    ],
    'no login where one is wanted': [
      () => tls({ KAFKA_BROKERS: broker.sasl }),
      /requires a login; set KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD/,
    ],
    'a login where none is taken': [
      () => tls({ KAFKA_BROKERS: broker.tls, ...login }),
      /accepts no login on this port; unset KAFKA_SASL_MECHANISM/,
    ],
    'an unknown authority': [
      () => tls({ KAFKA_BROKERS: broker.tls, KAFKA_SSL_CA_FILE: broker.strangerFile }),
      /of an authority that is not in KAFKA_SSL_CA_FILE \(.*stranger\.pem\)/,
    ],
    'no authority': [
      () => ({ KAFKA_BROKERS: broker.tls, KAFKA_SSL: 'true' }),
      /of an authority that this machine does not trust; set KAFKA_SSL_CA_FILE/,
    ],
    'an expired certificate': [
      () => tls({ KAFKA_BROKERS: broker.expired }),
      /KAFKA_BROKERS \(.*\) presents a certificate that has expired/,
    ],
    'a certificate for another host': [
      () => tls({ KAFKA_BROKERS: broker.otherHost }),
      /presents a certificate for other host names; KAFKA_BROKERS must use one of them/,
    ],
    'no TLS where it is spoken': [
      () => ({ KAFKA_BROKERS: broker.tls }),
      /accepts only TLS; set KAFKA_SSL=true/,
    ],
    'a login without TLS where it is spoken': [
      () => ({ KAFKA_BROKERS: broker.sasl, ...login }),
      /accepts only TLS; set KAFKA_SSL=true/,
    ],
    'TLS where it is not spoken': [
      () => tls({ KAFKA_BROKERS: broker.open }),
      /does not use TLS on this port; unset KAFKA_SSL/,
    ],
    'no client certificate where one is wanted': [
      () => tls({ KAFKA_BROKERS: broker.mutual }),
      /requires a client certificate; set KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE/,
    ],
    'no TLS where a client certificate is wanted': [
      () => ({ KAFKA_BROKERS: broker.mutual }),
      /accepts only TLS; set KAFKA_SSL=true/,
    ],
    'a client certificate of an unknown authority': [
      async () =>
        tls({
          KAFKA_BROKERS: broker.mutual,
          ...(await certificateOf('stranger', { by: makeAuthority('Nobody') })),
        }),
      /refuses the client certificate in KAFKA_SSL_CERT_FILE/,
    ],
    'an expired client certificate': [
      async () =>
        tls({
          KAFKA_BROKERS: broker.mutual,
          ...(await certificateOf('old', { by: broker.clientAuthority, validDays: [-9, -8] })),
        }),
      /refuses the client certificate in KAFKA_SSL_CERT_FILE/,
    ],
    'an authority that is none': [
      async () =>
        tls({
          KAFKA_BROKERS: broker.tls,
          KAFKA_SSL_CA_FILE: await broker.file('rubbish.pem', 'rubbish'),
        }),
      /KAFKA_SSL_CA_FILE names ".*rubbish\.pem", which holds no certificate in PEM/,
    ],
    'a client key that belongs to another certificate': [
      async () => {
        const env = await certificateOf('torn', { by: broker.clientAuthority });
        const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
        const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
        const file = await broker.file('other.key.pem', key.toString());
        return tls({ KAFKA_BROKERS: broker.mutual, ...env, KAFKA_SSL_KEY_FILE: file });
      },
      /KAFKA_SSL_KEY_FILE names ".*other\.key\.pem", which is not the private key of KAFKA_SSL_CERT_FILE/,
    ],
  };
  for (const [title, [envOf, says]] of Object.entries(wrong)) {
    test(title, async () => {
      const context = createContext({ ...postrider.environment, ...(await envOf()) });
      await assert.rejects(
        async () => context.reachKafka(),
        ({ code, message }: PostriderError) => {
          assert.equal(code, 'setting-invalid', message);
          assert.match(message, says);
          assert.doesNotMatch(message, /wr0ng|password-of|\n/);
          return true;
        },
      );
    });
  }

  test('a role and a command end with it', async () => {
    const env = tls({ KAFKA_BROKERS: broker.sasl, ...login, KAFKA_SASL_PASSWORD: 'wr0ng' });
    for (const command of ['topics', 'router']) {
      const { code, stdout, stderr } = await postrider.run([command], { env });
      assert.deepEqual([code, stdout], [1, ''], stderr);
      const said = stderr.split('\n').filter((line) => line.startsWith('postrider: '));
      assert.equal(said.length, 1, stderr);
      assert.match(said.join(), /refuses the login with KAFKA_SASL_USERNAME "app"/);
    }
  });
});
