import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger, type Logger } from '../../../src/ops/log.ts';
import { ConfigRecords } from '../../../src/resources/config/config-records.ts';
import type { Resource } from '../../../src/resources/resource.ts';
import { createSecretKeys, type SecretKeys } from '../../../src/resources/config/secrets.ts';
import { encodeResource, recordKey } from '../../../src/resources/config/stored.ts';
import { collect as collectGarbage } from '../../harness/old-garbage.ts';
import {
  candidatesOf,
  exampleAudience,
  exampleDestination,
  exampleKeys,
  exampleSource,
  otherKeys,
} from '../examples.ts';

type TopicRecord = readonly [key: string, value: string | null];

function recordOf(resource: Resource, keys: SecretKeys = exampleKeys): TopicRecord {
  return [recordKey(resource), encodeResource(resource, keys)];
}

function load(
  topic: readonly TopicRecord[],
  keys: SecretKeys = exampleKeys,
): ReturnType<typeof loadWith> {
  return loadWith(keys, topic);
}

function loadWith(
  keys: SecretKeys | undefined,
  topic: readonly TopicRecord[],
): { records: ConfigRecords; errors: string[] } {
  const errors: string[] = [];
  const log: Logger = {
    ...silentLogger,
    debug: () => undefined,
    error: (_, text) => errors.push(text),
  };
  const records = new ConfigRecords(keys, log);
  for (const [key, value] of topic) assert.equal(records.accept(key, value), undefined);
  records.finishLoading();
  return { records, errors };
}

test('what was loaded can be looked up', () => {
  const { records, errors } = load([recordOf(exampleSource()), recordOf(exampleDestination())]);
  const { index } = records;
  assert.deepEqual(index.sourceByWriteKey('wk_shop'), exampleSource());
  assert.equal(index.sourceByWriteKey('other'), undefined);
  assert.deepEqual(index.destination('crm'), exampleDestination());
  assert.deepEqual(candidatesOf(index, 'shop'), [exampleDestination()]);
  assert.deepEqual(candidatesOf(index, 'none'), []);
  assert.deepEqual(errors, []);
});

test('without keys, destinations are there for routing, and nothing is said of their secrets', () => {
  const topic = [recordOf(exampleSource()), recordOf(exampleDestination(), otherKeys)];
  const { records, errors } = loadWith(undefined, topic);
  const [routed] = candidatesOf(records.index, 'shop');
  assert.equal(routed?.id, 'crm');
  const { sharedSecret = '', webhooks } = exampleDestination();
  assert.notEqual(sharedSecret, '');
  const shown = JSON.stringify(records.index.destination('crm'));
  for (const secret of [sharedSecret, ...webhooks.flatMap(({ headers }) => Object.values(headers))])
    assert.ok(!shown.includes(secret));
  assert.deepEqual([records.notFollowed, records.wrongKey, errors], [0, undefined, []]);

  records.accept(...recordOf(exampleDestination({ sources: ['other'] }), otherKeys));
  assert.deepEqual(candidatesOf(records.index, 'shop'), []);
});

test('a change takes effect at once and says what changed', () => {
  const { records } = load([recordOf(exampleSource()), recordOf(exampleDestination())]);
  const { index } = records;
  const renamed = exampleSource({ writeKeys: ['new'] });
  assert.equal(records.accept(...recordOf(renamed))?.id, 'shop');
  assert.equal(index.sourceByWriteKey('wk_shop'), undefined);
  assert.deepEqual(index.sourceByWriteKey('new'), renamed);

  records.accept(...recordOf(exampleDestination({ sources: ['other'] })));
  assert.deepEqual(candidatesOf(index, 'shop'), []);
  assert.equal(candidatesOf(index, 'other').length, 1);

  assert.deepEqual(records.accept('Destination/crm', null), { kind: 'Destination', id: 'crm' });
  assert.equal(index.destination('crm'), undefined);
  assert.deepEqual(candidatesOf(index, 'other'), []);
  assert.equal(records.accept('Destination/crm', null), undefined);
});

test('a destination is a new object exactly when something of it changed', () => {
  const { records } = load([recordOf(exampleDestination())]);
  const before = records.index.destination('crm');
  assert.equal(records.accept(...recordOf(exampleDestination())), undefined);
  records.accept(...recordOf(exampleDestination({ id: 'another' })));
  assert.equal(records.index.destination('crm'), before);
  assert.equal(candidatesOf(records.index, 'shop')[1], before);
  records.accept(...recordOf(exampleDestination({ name: 'New' })));
  assert.notEqual(records.index.destination('crm'), before);
});

test('disabled destinations are known but not routed to, and the others come by id', () => {
  const { records } = load([
    recordOf(exampleDestination({ id: 'c' })),
    recordOf(exampleDestination({ id: 'a' })),
    recordOf(exampleDestination({ id: 'b', enabled: false })),
  ]);
  const routed = candidatesOf(records.index, 'shop').map(({ id }) => id);
  assert.deepEqual(routed, ['a', 'c']);
  assert.equal([...records.index.destinations()].length, 3);
  assert.equal(records.index.destination('b')?.enabled, false);
});

test('a write key that two sources took stays with the first, however a process learnt of them', () => {
  const first = recordOf(exampleSource());
  const second = recordOf(exampleSource({ id: 'another' }));
  const followed = load([]).records;
  followed.accept(...first);
  followed.accept(...second);
  const loaded = load([first, second]).records;
  for (const { index } of [followed, loaded])
    assert.equal(index.sourceByWriteKey('wk_shop')?.id, 'shop');

  // Written again, the first one's record is the later one: compaction leaves no other order.
  followed.accept(...first);
  const compacted = load([second, first]).records;
  const uncompacted = load([first, second, first]).records;
  for (const { index } of [followed, compacted, uncompacted])
    assert.equal(index.sourceByWriteKey('wk_shop')?.id, 'another');
});

test('an unreadable record is logged and leaves the version before it in force', () => {
  const broken: TopicRecord = [
    'Destination/crm',
    '{"version":1,"resource":{"kind":"Destination"}}',
  ];
  for (const live of [true, false]) {
    const topic = [recordOf(exampleSource()), recordOf(exampleDestination())];
    const { records, errors } = load(live ? topic : [...topic, broken]);
    if (live) assert.equal(records.accept(...broken), undefined);
    assert.deepEqual(records.index.destination('crm'), exampleDestination());
    assert.equal(records.isUnreadable({ kind: 'Destination', id: 'crm' }), false);
    assert.equal(errors.length, 1);
    assert.match(errors[0] ?? '', /record of Destination crm is not valid: .*stays in force/);
    assert.equal(records.notFollowed, 1);
    records.accept(...recordOf(exampleDestination({ name: 'Mended' })));
    assert.equal(records.notFollowed, 0);
  }
});

test('a destination of which nothing can be read is not a deleted one', () => {
  const name = { kind: 'Destination', id: 'crm' } as const;
  const unreadable = recordOf(exampleDestination(), otherKeys);
  const { records, errors } = load([recordOf(exampleDestination({ id: 'b' })), unreadable]);
  assert.equal(records.index.destination('crm'), undefined);
  assert.equal(records.isUnreadable(name), true);
  assert.match(errors.join(), /Destination crm: .*SECRET_KEY.*its events wait/);
  assert.doesNotMatch(errors.join(), /teehee|t0ken/);

  records.accept(...recordOf(exampleDestination()));
  assert.equal(records.isUnreadable(name), false);
  records.accept(...unreadable);
  assert.deepEqual(records.index.destination('crm'), exampleDestination());
  records.accept('Destination/crm', null);
  records.accept(...recordOf(exampleDestination({ uid: 'second' }), otherKeys));
  assert.equal(records.unreadable(name)?.uid, 'second');
  records.accept('Source/crm', null);
  assert.deepEqual([records.isUnreadable(name), records.notFollowed], [true, 1]);
  records.accept('Destination/crm', null);
  assert.deepEqual([records.isUnreadable(name), records.notFollowed], [false, 0]);
});

test('calls are routed to a destination whose secrets cannot be read, and to no other of its versions', () => {
  const enabled = recordOf(exampleDestination({ id: 'a', topic: 'dedicated' }), otherKeys);
  const disabled = recordOf(exampleDestination({ id: 'c', enabled: false }), otherKeys);
  const { records } = load([recordOf(exampleDestination({ id: 'b' })), enabled, disabled]);
  const routed = (): string[] =>
    candidatesOf(records.index, 'shop').map(({ id, topic }) => `${id} ${topic}`);
  assert.deepEqual(routed(), ['a dedicated', 'b shared']);
  records.accept(...recordOf(exampleDestination({ id: 'a' })));
  assert.deepEqual(routed(), ['a shared', 'b shared']);
  records.accept(...enabled);
  assert.deepEqual(routed(), ['a shared', 'b shared']);
  records.accept('Destination/a', null);
  records.accept(...enabled);
  assert.deepEqual(routed(), ['a dedicated', 'b shared']);
  records.accept('Destination/a', null);
  assert.deepEqual(routed(), ['b shared']);
});

test('to one of which nothing can be read, none are', () => {
  const unknown = ['Destination/a', '{"version":9,"resource":{"sources":["shop"]}}'] as const;
  const { records, errors } = load([recordOf(exampleDestination({ id: 'b' })), unknown]);
  assert.deepEqual(
    candidatesOf(records.index, 'shop').map(({ id }) => id),
    ['b'],
  );
  assert.match(errors.join(), /Destination a .*: calls are not routed to it/);
});

test('a key that reads none of the secrets is known to be wrong', () => {
  const topic = [recordOf(exampleSource()), recordOf(exampleDestination())];
  const { wrongKey } = load(topic, otherKeys).records;
  assert.equal(wrongKey?.code, 'secret-unreadable');
  assert.match(wrongKey.message, /^Destination crm: .*other than SECRET_KEY/);
  assert.match(load(topic, {}).records.wrongKey?.message ?? '', /SECRET_KEY is not set/);
  assert.equal(load([recordOf(exampleSource())], {}).records.wrongKey, undefined);
  assert.equal(load(topic).records.wrongKey, undefined);
  const mixed = [...topic, recordOf(exampleDestination({ id: 'b' }), otherKeys)];
  assert.equal(load(mixed).records.wrongKey, undefined);
});

test('when the topic is made anew, what stays the same stays the same object, and the rest is said', () => {
  const { index } = load([
    recordOf(exampleSource()),
    recordOf(exampleDestination()),
    recordOf(exampleDestination({ id: 'gone' })),
  ]).records;
  const kept = index.destination('crm');
  const anew = new ConfigRecords(exampleKeys, silentLogger, index);
  anew.accept(...recordOf(exampleDestination()));
  anew.accept(...recordOf(exampleSource({ name: 'New' })));
  assert.equal(index.source('shop')?.name, 'Web shop');
  assert.ok(index.destination('gone'));

  const changes = anew.finishLoading().map(recordKey);
  assert.deepEqual(changes, ['Destination/gone', 'Source/shop']);
  assert.equal(index.destination('crm'), kept);
  assert.equal(index.destination('gone'), undefined);
});

test('old versions that a former key encrypted disturb nobody', () => {
  const rotated = createSecretKeys(Buffer.alloc(32, 2), undefined);
  const { records, errors } = load(
    [
      recordOf(exampleDestination()),
      recordOf(exampleDestination({ id: 'gone' })),
      recordOf(exampleDestination(), rotated),
      ['Destination/gone', null],
    ],
    rotated,
  );
  assert.deepEqual(errors, []);
  assert.deepEqual(records.index.destination('crm'), exampleDestination());
  assert.equal(records.isUnreadable({ kind: 'Destination', id: 'gone' }), false);
});

test('of a long history, only what may be in force is held while it is loaded', () => {
  const records = new ConfigRecords(exampleKeys, silentLogger);
  const id = 'routed';
  const topic = [
    recordOf(exampleDestination({ name: 'superseded' })),
    recordOf(exampleDestination()),
    recordOf(exampleDestination({ id }), otherKeys),
  ];
  for (const record of topic) records.accept(...record);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let version = 0; version < 100; version += 1)
    for (const key of ['Destination/crm', `Destination/${id}`]) {
      const pad = Buffer.alloc(1_000_000, 'x').toString();
      records.accept(key, JSON.stringify({ version: 9, pad }));
    }
  collectGarbage();
  const heldMegabytes = (process.memoryUsage().heapUsed - before) / 1_000_000;
  assert.ok(heldMegabytes < 50, `${heldMegabytes} MB of 200 are held`);

  records.finishLoading();
  assert.deepEqual(records.index.destination('crm'), exampleDestination());
  assert.deepEqual(
    candidatesOf(records.index, 'shop').map((each) => each.id),
    ['crm', id],
  );
  assert.equal(records.notFollowed, 2);
});

test('kinds of later versions are left alone', () => {
  const { records, errors } = load([
    ['Sink/big', '{}'],
    ['', 'x'],
  ]);
  assert.equal(records.accept('Sink/big', null), undefined);
  assert.deepEqual(errors, []);
});

test('a role keeps no audience and opens no database URL', () => {
  const { records, errors } = load([recordOf(exampleSource()), recordOf(exampleAudience())], {});
  assert.deepEqual(errors, []);
  assert.deepEqual(records.index.names().map(recordKey), ['Source/shop']);
  assert.equal(records.accept(...recordOf(exampleAudience())), undefined);
});
