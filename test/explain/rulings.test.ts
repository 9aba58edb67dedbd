import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideAgain } from '../../src/explain/rulings.ts';
import { ConfigHistory } from '../../src/resources/config/config-history.ts';
import type { ReadCall } from '../../src/router/read-call.ts';
import { readCall } from '../../src/router/read-call.ts';
import { noRegistry } from '../../src/schemas/schemas.ts';
import { audienceTopic, incoming, topics } from '../router/fakes.ts';

/** Records of the `config` topic, a second apart, without the offsets that compaction has removed. */
function history(
  ...records: readonly (readonly [offset: number, resource: object | string])[]
): ConfigHistory {
  const config = new ConfigHistory();
  for (const [offset, resource] of records) {
    const deleted = typeof resource === 'string';
    const { kind, id } = resource as { kind: string; id: string };
    config.collect({
      topic: 'p.config',
      partition: 0,
      offset,
      timestampMs: offset * 1_000,
      key: Buffer.from(deleted ? resource : `${kind}/${id}`),
      value: deleted ? null : Buffer.from(JSON.stringify({ version: 1, resource })),
      headers: {},
    });
  }
  return config;
}

const shop = { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] };

function destination(id: string, more: object = {}): object {
  const webhooks = [{ url: 'https://e.test' }];
  return { kind: 'Destination', id, name: id, sources: ['shop'], webhooks, ...more };
}

function call(fields: object = {}): ReadCall {
  const all = { type: 'track', event: 'Order', userId: 'u1', writeKey: 'wk', ...fields };
  const read = readCall(incoming(all), noRegistry, audienceTopic);
  assert.ok('call' in read);
  return read;
}

function told(config: ConfigHistory, end: number, read: ReadCall = call()): string[] {
  const { all } = decideAgain(read, config.beforeOffset(end), config.now(), topics);
  return all.map(({ destination: id, unwanted = 'wanted', by }) => `${id} ${unwanted} ${by}`);
}

test('each destination of the source is told, with the rule by which it does not get the call', () => {
  const config = history(
    [0, shop],
    [1, destination('all')],
    [2, destination('names', { eventNames: ['Other'] })],
    [3, destination('off', { enabled: false })],
    [4, destination('pages', { events: ['page'] })],
    [5, destination('elsewhere', { sources: ['blog'] })],
  );
  assert.deepEqual(told(config, 9), [
    'all wanted then',
    'names event-names then',
    'off disabled then',
    'pages events then',
  ]);
  const nowhere = told(config, 9, call({ integrations: { All: false } }));
  assert.deepEqual(nowhere[0], 'all integrations then');
  const { source, all } = decideAgain(call({ writeKey: 'no' }), config.now(), config.now(), topics);
  assert.deepEqual([source, all], [undefined, []]);
});

test('the condition of a filter that did not hold is told with the value that it met', () => {
  const config = history(
    [0, shop],
    [1, destination('acme', { filter: { type: 'track', 'properties.accountId': 'acme' } })],
    [2, destination('zeta', { filter: { 'properties.accountId': { in: ['zeta'] } } })],
  );
  const read = call({ properties: { accountId: 'zeta' } });
  const { all } = decideAgain(read, config.now(), config.now(), topics);
  assert.deepEqual(
    all.map(({ unwanted, detail }) => [unwanted, detail]),
    [
      ['filter', 'its filter wants properties.accountId: "acme"; properties.accountId is "zeta"'],
      [undefined, ''],
    ],
  );
});

test('the configuration is that of then, as far as the topic still has it', () => {
  const before = destination('crm', { events: ['page'] });
  const whole = history([0, shop], [1, before], [2, destination('crm')], [3, destination('new')]);
  assert.deepEqual(told(whole, 2), ['crm events then', 'new not-connected then']);
  assert.deepEqual(told(whole, 9), ['crm wanted then', 'new wanted then']);
  const compacted = history([0, shop], [2, destination('crm')], [3, destination('new')]);
  assert.deepEqual(told(compacted, 2), ['crm wanted now', 'new wanted now']);
});

test('a destination that was deleted since wanted it then', () => {
  const config = history([0, shop], [1, destination('crm')], [2, 'Destination/crm']);
  assert.deepEqual(told(config, 2), ['crm wanted then']);
  assert.deepEqual(told(config, 3), []);
});

test('a suppressed user is told for each destination that would get the call', () => {
  const config = history(
    [0, shop],
    [1, destination('all')],
    [2, destination('off', { enabled: false })],
  );
  const suppressed = { id: 'u1', sinceMs: 0 };
  const { all } = decideAgain(call(), config.beforeOffset(9), config.now(), topics, suppressed);
  assert.deepEqual(
    all.map(({ unwanted, detail }) => [unwanted, detail]),
    [
      ['suppressed', 'its user is suppressed since 1970-01-01T00:00:00.000Z (suppress-user)'],
      ['disabled', 'it is disabled'],
    ],
  );
});
