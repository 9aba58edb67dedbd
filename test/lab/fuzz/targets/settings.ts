import assert from 'node:assert/strict';
import { PostriderError } from '../../../../src/errors.ts';
import { describeOddSettings } from '../../../../src/settings/misspelt.ts';
import { describeSettings, readSettings } from '../../../../src/settings/read.ts';
import { settingsTable, type Settings } from '../../../../src/settings/table.ts';
import type { Target } from '../engine/target.ts';

const names = Object.values(settingsTable).map(({ name }) => name);
const secrets = Object.values(settingsTable).flatMap((each) => ('secret' in each ? each.name : []));

/** Lines of `NAME=value`. */
export const target: Target = {
  about:
    'environment variables: one error that names what is wrong and no secret, or settings that are read again from how they are described',
  seeds: [
    'KAFKA_BROKERS=a:9092,[::1]:9093\nKAFKA_SSL=true\nKAFKA_SSL_CA_FILE=/ca.pem',
    'RETRY_TIERS=10s,1m,1h\nRETRY_WINDOW=4h\nDELIVERY_TIMEOUT=5s\nMAX_AGE=3d',
    'GATEWAY_PORT=8080\nGATEWAY_CORS_ORIGINS=https://a.example,*\nGATEWAY_RATE_LIMIT=30/m',
    'SCHEMA_REGISTRY_URL=https://r.example/\nSCHEMA_REGISTRY_USERNAME=u\nSCHEMA_REGISTRY_PASSWORD=geheim',
    'CONSOLE_URL=https://c.example\nCONSOLE_OIDC_ISSUER=http://localhost:1/\nDELIVERY_ALLOW_NETWORKS=10.0.0.0/8,fd00::/8',
    'DEBUG=postrider\nLOG_LEVEL=warn\nDELIVRY_TIMEOUT=5s\nKAFKA_PORT=tcp://1.2.3.4:9',
  ],
  words: [
    ...names.map((name) => `\n${name}=`),
    ...['true', '1ms', '0s', '99999d', ',', ':', '/', '::', '*', '@', 'http://'],
  ],
  check(input) {
    const env: Record<string, string> = {};
    for (const line of input.toString('utf8').split('\n')) {
      const [name = '', ...value] = line.split('=');
      // Files are read by the reader; any name of one would be.
      if (!name.endsWith('_FILE') || name.includes('SSL') || name.includes('TLS'))
        env[name] = value.join('=');
    }
    for (const sentence of describeOddSettings(env)) assert.match(sentence, /is not a setting/);
    const isSecret = Object.entries(env).every(
      ([name, value]) => secrets.includes(name) || !value.includes('geheim'),
    );
    let settings: Settings;
    try {
      settings = readSettings(env);
    } catch (error) {
      assert.ok(error instanceof PostriderError && error.code === 'setting-invalid', String(error));
      assert.doesNotMatch(error.message, /\[object|NaN/);
      assert.ok(!isSecret || !error.message.includes('geheim'), 'no secret is shown');
      return;
    }
    const described = describeSettings(settings);
    assert.ok(!isSecret || !Object.values(described).includes('geheim'));
    const again: Record<string, string> = {};
    for (const [name, text] of Object.entries(described)) {
      if (text !== 'not set') again[name] = text;
      if (text === 'set') again[name] = env[name] ?? '';
    }
    assert.deepEqual(readSettings(again), settings);
  },
};
