import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOddSettings } from '../../src/settings/misspelt.ts';
import { settingsTable } from '../../src/settings/table.ts';
import { eventually } from '../harness/eventually.ts';
import { beginCommand, runCommand } from '../harness/run-command.ts';

test('a variable that is almost named like a setting, or shares words with one, is told with what was probably meant', () => {
  const meant = {
    DELIVERY_MAX_INFLIGHT: 'DELIVERY_MAX_IN_FLIGHT',
    DELIVERY_RETRY_WINDOW: 'RETRY_WINDOW',
    GATEWAY_TLS_CERT: 'GATEWAY_TLS_CERT_FILE',
    KAFKA_BROKER: 'KAFKA_BROKERS',
    KAFKA_BROKER_LIST: 'KAFKA_BROKERS',
    KAFKA_PASSWORD: 'KAFKA_SASL_PASSWORD',
    KAFKA_SASL_PASSWORD_FILES: 'KAFKA_SASL_PASSWORD_FILE',
    kafka_brokers: 'KAFKA_BROKERS',
    LOGLEVEL: 'LOG_LEVEL',
    POSTRIDER_LOG_LEVEL: 'LOG_LEVEL',
    RETRY_WINDWO: 'RETRY_WINDOW',
  };
  const given = Object.fromEntries(Object.keys(meant).map((name) => [name, 'x']));
  assert.deepEqual(
    describeOddSettings(given),
    Object.entries(meant).map(
      ([name, setting]) => `${name} is not a setting; did you mean ${setting}?`,
    ),
  );
});

test('one that only begins like settings is told too', () => {
  const given = {
    DELIVERY_COLOUR: 'x',
    KAFKA_COMPRESSION: 'x',
    POSTRIDER_HOME: 'x',
    SECRET_KEY_BASE: 'x',
  };
  assert.deepEqual(describeOddSettings(given), [
    'DELIVERY_COLOUR is not a setting',
    'KAFKA_COMPRESSION is not a setting',
    'POSTRIDER_HOME is not a setting',
    'SECRET_KEY_BASE is not a setting; did you mean SECRET_KEY?',
  ]);
});

test('settings themselves, their files, and what others need are not', () => {
  const settings = Object.values(settingsTable).map(({ name }) => [name, 'x']);
  const others = [
    ...[
      'API_KEY',
      'APP_PORT',
      'HOME',
      'HOSTNAME',
      'LOG_FILE',
      'MAX_WORKERS',
      'NODE_OPTIONS',
      'SECRET_TOKEN',
    ],
    ...['KAFKA_HEAP_OPTS', 'KAFKA_OPTS', 'KAFKA_HOME'],
  ];
  const env = Object.fromEntries([...settings, ...others.map((name) => [name, 'x'])]) as object;
  assert.deepEqual(describeOddSettings({ ...env, SECRET_KEY_FILE: '/run/key' }), []);
});

/** As Kubernetes does for each Service of a namespace. */
function serviceLinks(service: string): Record<string, string> {
  return {
    [`${service}_SERVICE_HOST`]: '10.0.0.1',
    [`${service}_SERVICE_PORT`]: '9092',
    [`${service}_SERVICE_PORT_TCP_CLIENTS`]: '9092',
    [`${service}_PORT`]: 'tcp://10.0.0.1:9092',
    [`${service}_PORT_9092_TCP`]: 'tcp://10.0.0.1:9092',
    [`${service}_PORT_9092_TCP_PROTO`]: 'tcp',
    [`${service}_PORT_9092_TCP_PORT`]: '9092',
    [`${service}_PORT_9092_TCP_ADDR`]: '10.0.0.1',
  };
}

const services = ['KAFKA', 'KAFKA_BROKERS', 'POSTRIDER', 'POSTRIDER_GATEWAY', 'GATEWAY', 'ROUTER'];

test('neither is what Kubernetes sets for services that are named like settings begin', () => {
  for (const service of services) assert.deepEqual(describeOddSettings(serviceLinks(service)), []);
});

const path = { PATH: process.env['PATH'] ?? '', LOG_FORMAT: 'json' };
const odd = { ...path, DELIVERY_RETRY_WINDOW: '2h' };
const told = 'DELIVERY_RETRY_WINDOW is not a setting; did you mean RETRY_WINDOW?';

test('a command tells it before it does its work', async () => {
  const env = { ...odd, SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' };
  const { code, stderr } = await runCommand(['schemas', 'check'], env);
  assert.equal(code, 1);
  assert.match(
    stderr,
    new RegExp(`^postrider: ${told.replace('?', '\\?')}\npostrider: The schema`),
  );
});

/** Nothing listens there. */
const nowhere = '127.0.0.1:1';

test('so does a role, in its log, and goes on; a port of a service is none of its own', async () => {
  const links = serviceLinks('GATEWAY');
  const env = { ...odd, ...links, KAFKA_BROKERS: nowhere, OPS_PORT: '0' };
  const running = beginCommand(['gateway'], env);
  await eventually(() => {
    const [, second = ''] = running.stderr().split('\n');
    const { level, msg } = JSON.parse(second) as Record<string, unknown>;
    assert.deepEqual([level, msg], [40, told]);
    assert.match(running.stderr(), /Kafka cannot be reached/);
  });
  running.kill('SIGKILL');
  await running.ended;
});

for (const [args, name, given] of [
  [['get', 'sources'], 'KAFKA_BROKERS', 'KAFKA_BROKER'],
  [['delivery'], 'KAFKA_BROKERS', 'POSTRIDER_KAFKA_BROKERS'],
  [['secrets', 'rotate'], 'SECRET_KEY', 'SECRETKEY'],
  [['schemas', 'register'], 'SCHEMA_REGISTRY_URL', 'SCHEMA_REGISTRY_URI'],
] as const) {
  test(`${args.join(' ')} without ${name} names the variable that was meant to be it, once`, async () => {
    const { code, stderr } = await runCommand(args, { ...path, OPS_PORT: '0', [given]: 'x' });
    assert.equal(code, 1);
    const [sentence = '', ...more] = stderr.trimEnd().split('\n');
    assert.match(sentence, new RegExp(`^postrider: ${name} is not set, allowed: .+; `));
    assert.ok(sentence.endsWith(`; ${given} is set: did you mean ${name}?`), sentence);
    assert.deepEqual(more, []);
  });
}
