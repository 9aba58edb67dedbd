import assert from 'node:assert/strict';
import { test } from 'node:test';
import { likelyMisspelt } from '../../src/settings/misspelt.ts';
import { settingsTable } from '../../src/settings/table.ts';

test('a variable that is almost named like a setting is told, with what was probably meant', () => {
  const meant = {
    DELIVERY_MAX_INFLIGHT: 'DELIVERY_MAX_IN_FLIGHT',
    KAFKA_BROKER: 'KAFKA_BROKERS',
    KAFKA_SASL_PASSWORD_FILES: 'KAFKA_SASL_PASSWORD_FILE',
    LOGLEVEL: 'LOG_LEVEL',
    RETRY_WINDWO: 'RETRY_WINDOW',
  };
  const given = Object.fromEntries(Object.keys(meant).map((name) => [name, 'x']));
  assert.deepEqual(
    likelyMisspelt(given),
    Object.entries(meant).map(
      ([name, setting]) => `${name} is no setting and has no effect; did you mean ${setting}?`,
    ),
  );
});

test('settings themselves, their files, and what others need are not', () => {
  const settings = Object.values(settingsTable).map(({ name }) => [name, 'x']);
  const others = ['APP_PORT', 'HOME', 'HOSTNAME', 'KAFKA_HEAP_OPTS', 'LOG_FILE', 'NODE_OPTIONS'];
  const env = Object.fromEntries([...settings, ...others.map((name) => [name, 'x'])]) as object;
  assert.deepEqual(likelyMisspelt({ ...env, SECRET_KEY_FILE: '/run/key' }), []);
});
