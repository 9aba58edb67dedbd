import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { describeSettings, readSettings } from '../../src/settings/read.ts';
import { settingsTable } from '../../src/settings/table.ts';

const base64Key = Buffer.alloc(32, 7).toString('base64');

test('an empty environment gives the documented defaults', () => {
  const settings = readSettings({});
  assert.equal(settings.topicPrefix, 'postrider.');
  assert.equal(settings.deliveryTimeoutMs, 5_000);
  assert.deepEqual(settings.retryTiersMs, [10_000, 60_000, 300_000, 900_000, 1_800_000, 3_600_000]);
  assert.equal(settings.kafkaBrokers, undefined);
});

test('an empty variable counts as not set, except where nothing is a value', () => {
  const settings = readSettings({ OPS_PORT: '', DELIVERY_ALLOW_NETWORKS: '' });
  assert.equal(settings.opsPort, 9464);
  assert.deepEqual(settings.deliveryAllowNetworks, []);
  assert.equal(readSettings({}).deliveryAllowNetworks, undefined);
});

test('a login where none is allowed is not repeated', () => {
  for (const [name, given, shown] of [
    ['SCHEMA_REGISTRY_URL', 'http://me:ge@h/e,im@registry:8081', 'http://…@registry:8081'],
    ['KAFKA_BROKERS', 'a:1,me:geheim@kafka:9092', '…@kafka:9092'],
  ] as const) {
    assert.throws(() => readSettings({ [name]: given }), {
      message: new RegExp(`^${name} is "${shown}", allowed: `),
    });
  }
});

const refused: [string, string][] = [
  ['KAFKA_BROKERS', 'localhost'],
  ['KAFKA_BROKERS', 'localhost:99999'],
  ['KAFKA_SSL', 'yes'],
  ['KAFKA_SASL_MECHANISM', 'gssapi'],
  ['TOPIC_PREFIX', 'a b'],
  ['TOPIC_PARTITIONS', '0'],
  ['DEDUPE_WINDOW', '10'],
  ['DEDUPE_WINDOW', '2d'],
  ['SCHEMA_REGISTRY_URL', 'registry:8081'],
  ['TOPIC_PARTITIONS', '1.5'],
  ['INGEST_TOPICS', 'a,,b'],
  ['OPS_PORT', '65536'],
  ['DELIVERY_TIMEOUT', '6s'],
  ['DELIVERY_TIMEOUT', '5'],
  ['RETRY_WINDOW', '5h'],
  ['RETRY_TIERS', '1m,10s'],
  ['RETRY_TIERS', ','],
  ['RETRY_TIERS', '0s'],
  ['DELIVERY_ALLOW_NETWORKS', '127.0.0.1'],
  ['DELIVERY_NO_PROXY', 'crm.example/'],
  ['DELIVERY_NO_PROXY', 'a b'],
  ['LOG_LEVEL', 'loud'],
];
for (const [name, value] of refused) {
  test(`${name}=${value} is refused with the name, the value and what is allowed`, () => {
    assert.throws(() => readSettings({ [name]: value }), {
      code: 'setting-invalid',
      message: new RegExp(`^${name} is "${value.replaceAll('.', '\\.')}", allowed: .+`),
    });
  });
}

test('a proxy is an http URL of a host, with or without a login, and is not shown if it is anything else', () => {
  for (const given of [
    'http://proxy:3128',
    'http://user:p%40ss@10.0.0.1:3128/',
    'http://[::1]:8080',
  ])
    assert.equal(readSettings({ DELIVERY_PROXY: given }).deliveryProxy, given);
  for (const given of [
    'proxy:3128',
    'https://u:zq1@proxy',
    'http://proxy/zq1',
    'http://u:%zq1@proxy',
  ])
    assert.throws(() => readSettings({ DELIVERY_PROXY: given }), {
      message: /^DELIVERY_PROXY is not valid, allowed: a URL such as http:\/\/proxy:3128/,
    });
  const { deliveryNoProxy } = readSettings({
    DELIVERY_NO_PROXY: 'crm.example, .corp,10.0.0.0/8,::1',
  });
  assert.deepEqual(deliveryNoProxy, ['crm.example', '.corp', '10.0.0.0/8', '::1']);
});

test('every wrong setting is named in one go', () => {
  assert.throws(() => readSettings({ OPS_PORT: 'x', LOG_LEVEL: 'y' }), {
    message: /OPS_PORT.*; LOG_LEVEL/,
  });
});

test('a secret is read from the file that NAME_FILE names, without its line end', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'postrider-test-')), 'key');
  writeFileSync(file, `${base64Key}\n`);
  assert.deepEqual(readSettings({ SECRET_KEY_FILE: file }).secretKey, Buffer.alloc(32, 7));
  assert.throws(() => readSettings({ SECRET_KEY_FILE: `${file}.gone` }), {
    message: /SECRET_KEY_FILE names ".*gone", which cannot be read/,
  });
});

test('a secret is never shown, neither in a refusal nor among the effective settings', () => {
  assert.throws(
    () => readSettings({ SECRET_KEY: 'hunter2' }),
    (error: Error) => {
      assert.doesNotMatch(error.message, /hunter2/);
      assert.match(error.message, /SECRET_KEY is not valid, allowed: 32 bytes in base64/);
      return true;
    },
  );
  const shown = describeSettings(readSettings({ SECRET_KEY: base64Key }));
  assert.equal(shown['SECRET_KEY'], 'set');
  assert.equal(shown['SECRET_KEY_PREVIOUS'], 'not set');
  assert.equal(shown['RETRY_TIERS'], '10s,1m,5m,15m,30m,1h');
  assert.deepEqual(
    Object.keys(shown),
    Object.values(settingsTable).map(({ name }) => name),
  );
});

test('settings that only make sense together are refused alone', () => {
  assert.throws(() => readSettings({ KAFKA_SASL_USERNAME: 'me' }), { message: /only together/ });
  assert.throws(() => readSettings({ KAFKA_SASL_MECHANISM: 'plain' }), {
    message: /only together/,
  });
  assert.throws(() => readSettings({ KAFKA_SSL: 'true', KAFKA_SSL_KEY_FILE: '/k' }), {
    message: /only together/,
  });
  assert.throws(() => readSettings({ RETRY_WINDOW: '10m' }), {
    message: /RETRY_TIERS goes up to 1h, allowed: up to RETRY_WINDOW \(10m\)/,
  });
});

for (const name of [
  'ingest',
  'ingest.audience',
  'ingest.rejected',
  'delivery',
  'delivery.crm',
  'dead-letter',
  'paused',
  'config',
  'retry.10s',
  // Of a former tier, which still has records.
  'retry.7m',
])
  test(`${name}, which Postrider writes or reads itself, is no further topic of calls`, () => {
    const ours = `shop.${name}`;
    assert.throws(
      () => readSettings({ TOPIC_PREFIX: 'shop.', INGEST_TOPICS: `web-calls,${ours}` }),
      {
        code: 'setting-invalid',
        message: `INGEST_TOPICS names "${ours}", which is a topic of this deployment itself (TOPIC_PREFIX is "shop."), allowed: topics of other programs`,
      },
    );
    assert.deepEqual(readSettings({ INGEST_TOPICS: ours }).ingestTopics, [ours]);
  });

test('every topic of the deployment among INGEST_TOPICS is named in one go', () => {
  assert.throws(
    () => readSettings({ INGEST_TOPICS: 'postrider.delivery,a,postrider.dead-letter' }),
    { message: /names "postrider\.delivery", "postrider\.dead-letter", which are topics of/ },
  );
});

test('topics of others may stand under the prefix', () => {
  const names = ['postrider.web', 'postrider.ingest.web', 'postrider.retry.web', 'delivery'];
  assert.deepEqual(readSettings({ INGEST_TOPICS: names.join() }).ingestTopics, names);
});

test('tiers that leave no time for any retry within the window are refused', () => {
  const tooShort: [tiers: string, window: string, latest: string][] = [
    ['4h', '4h', '15841s'],
    ['10s', '10s', '12s'],
    ['1s,2s', '2s', '2100ms'],
  ];
  for (const [tiers, window, latest] of tooShort) {
    const first = tiers.split(',', 1).join();
    assert.throws(() => readSettings({ RETRY_TIERS: tiers, RETRY_WINDOW: window }), {
      code: 'setting-invalid',
      message: `RETRY_TIERS begins with ${first}, whose retry may come ${latest} later, allowed: within RETRY_WINDOW (${window})`,
    });
  }
  const settings = readSettings({ RETRY_TIERS: '10s', RETRY_WINDOW: '12s' });
  assert.equal(settings.retryWindowMs, 12_000);
});

test('a certificate without KAFKA_SSL=true is refused: connections would not be encrypted', () => {
  for (const name of ['KAFKA_SSL_CA_FILE', 'KAFKA_SSL_CERT_FILE', 'KAFKA_SSL_KEY_FILE']) {
    assert.throws(() => readSettings({ [name]: '/f' }), {
      message: new RegExp(`${name} is given, allowed: only with KAFKA_SSL=true`),
    });
  }
  const settings = readSettings({ KAFKA_SSL: 'true', KAFKA_SSL_CA_FILE: '/f' });
  assert.equal(settings.kafkaSslCaFile, '/f');
});

test('DEBUG=postrider means debug, unless LOG_LEVEL is given', () => {
  assert.equal(readSettings({ DEBUG: 'other,postrider' }).logLevel, 'debug');
  assert.equal(readSettings({ DEBUG: 'postrider', LOG_LEVEL: 'warn' }).logLevel, 'warn');
});
