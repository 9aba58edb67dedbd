import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { audienceSourceHeader, encodeOrigin, originHeader } from '../../src/event/headers.ts';
import { decodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import type { IncomingRecord, OutgoingRecord } from '../../src/kafka/record.ts';
import type { FollowedResource } from '../../src/resources/config/config-index.ts';
import { readCall } from '../../src/router/read-call.ts';
import { Routes } from '../../src/router/route-call.ts';
import { anyCall } from '../event/some-calls.ts';
import { noRegistry } from '../../src/schemas/schemas.ts';
import { exampleDestination, exampleSource } from '../resources/examples.ts';
import { appendTimeMs, audienceTopic, FakeConfig, incoming, topics } from './fakes.ts';
import { wholeEnvelope } from '../event/whole-envelope.ts';

const order = {
  type: 'track',
  event: 'Order Completed',
  userId: 'u1',
  writeKey: 'wk_shop',
  properties: { total: 1 },
};

function route(record: IncomingRecord, ...resources: FollowedResource[]): OutgoingRecord[] {
  return routeWith(new Routes(new FakeConfig(exampleSource(), ...resources), topics), record);
}

function routeWith(routes: Routes, record: IncomingRecord): OutgoingRecord[] {
  const read = readCall(record, noRegistry, audienceTopic);
  assert.ok('call' in read);
  return routes.route(read, routes.sourceOf(read) ?? assert.fail('no source has the write key'));
}

function destinationsOf(records: readonly OutgoingRecord[]): string[] {
  return records.map((record) => envelopeOf(record).destinationId);
}

function envelopeOf(record: OutgoingRecord): NonNullable<ReturnType<typeof decodeEnvelope>> {
  const header = Buffer.from(record.headers?.[envelopeHeader] as string);
  return decodeEnvelope(header) ?? assert.fail('no envelope');
}

test('a call becomes one record for each destination of its source', () => {
  const records = route(
    incoming(order),
    exampleDestination(),
    exampleDestination({ id: 'dwh', topic: 'dedicated' }),
    exampleDestination({ id: 'other', sources: ['app'] }),
  );
  assert.deepEqual(
    records.map(({ topic, key }) => [topic, String(key)]),
    [
      ['p.delivery', 'crm:u1'],
      ['p.delivery.dwh', 'dwh:u1'],
    ],
  );
  assert.deepEqual(JSON.parse(String(records[0]?.value)), {
    version: 1,
    type: 'track',
    userId: 'u1',
    event: 'Order Completed',
    properties: { total: 1 },
    timestamp: '2026-11-20T18:59:40.123Z',
  });
});

test('all events of a destination with a rate limit go to one partition, each with its own key', () => {
  const records = route(
    incoming(order),
    exampleDestination({ id: 'a', rateLimit: '10/s' }),
    exampleDestination({ id: 'b', rateLimit: '10/s', topic: 'dedicated' }),
    exampleDestination({ id: 'c' }),
  );
  assert.deepEqual(
    records.map(({ key, partitionKey }) => [String(key), partitionKey]),
    [
      ['a:u1', 'a'],
      ['b:u1', 'b'],
      ['c:u1', undefined],
    ],
  );
});

test('the envelope says what the router saw', () => {
  const [record] = route(incoming(order), exampleDestination());
  assert.deepEqual(
    envelopeOf(record as OutgoingRecord),
    wholeEnvelope({
      destinationId: 'crm',
      sourceId: 'shop',
      messageId: 'p.ingest:3:42',
      type: 'track',
      eventName: 'Order Completed',
      configOffset: 2,
      appendTimeMs,
      attempts: 0,
    }),
  );
});

test('the envelope names the event as people know it, and no more of a long name than a list shows', () => {
  const nameOf = (call: object): string | undefined => {
    const [record] = route(
      incoming({ userId: 'u1', writeKey: 'wk_shop', ...call }),
      exampleDestination(),
    );
    return envelopeOf(record as OutgoingRecord).eventName;
  };
  assert.equal(nameOf({ type: 'page', name: 'Home' }), 'Home');
  assert.equal(nameOf({ type: 'screen', name: 7 }), undefined);
  assert.equal(nameOf({ type: 'identify', name: 'Ada', event: 'x' }), undefined);
  assert.equal(nameOf({ type: 'track', event: '😀'.repeat(200) }), '😀'.repeat(50));
});

test('a record says which destination of its id it is for', () => {
  const uids = route(
    incoming(order),
    exampleDestination({ uid: 'second' }),
    exampleDestination({ id: 'dwh' }),
  ).map((record) => envelopeOf(record).uid);
  assert.deepEqual(uids, ['second', undefined]);
});

test('destinations with the same payload share one body, and full bodies have no write key', () => {
  const records = route(
    incoming(order),
    exampleDestination({ id: 'a' }),
    exampleDestination({ id: 'b' }),
    exampleDestination({ id: 'c', payload: 'full' }),
  );
  const [a, b, c] = records.map(({ value }) => value);
  assert.equal(a, b);
  assert.notDeepEqual(a, c);
  assert.equal(Object.hasOwn(JSON.parse(String(c)) as object, 'writeKey'), false);
});

test('destinations of equal shape share one body, each other shape has its own', () => {
  const template = { text: '{{event}} by {{userId}}' };
  const records = route(
    incoming(order),
    exampleDestination({ id: 'a', body: { template } }),
    exampleDestination({ id: 'b', body: { template: { ...template } }, payload: 'full' }),
    exampleDestination({ id: 'c', body: { pick: ['event'] } }),
    exampleDestination({ id: 'd' }),
  );
  const [a, b, c, d] = records.map(({ value }) => value);
  assert.equal(String(a), '{"text":"Order Completed by u1"}');
  assert.equal(a, b);
  assert.equal(String(c), '{"event":"Order Completed"}');
  assert.match(String(d), /^\{"version":1,/);
});

test('an event carries what its call has at the placeholders of the URLs', () => {
  const url = 'https://crm.example.com/{{userId}}/{{properties.total}}/{{traits.id|0}}';
  const [a, b] = route(
    incoming(order),
    exampleDestination({ id: 'a', webhooks: [{ url }] }),
    exampleDestination({ id: 'b' }),
  ).map((record) => envelopeOf(record).urlValues);
  assert.deepEqual(a, { userId: 'u1', 'properties.total': '1', 'traits.id': null });
  assert.equal(b, undefined);
});

test('a destination gets nothing while it is disabled', () => {
  const records = route(
    incoming(order),
    exampleDestination({ id: 'a', enabled: false }),
    exampleDestination({ id: 'b' }),
  );
  assert.deepEqual(destinationsOf(records), ['b']);
});

test('a destination gets the call types and the event names that it wants', () => {
  const resources = [
    exampleDestination({ id: 'names', eventNames: ['Order Completed'] }),
    exampleDestination({ id: 'others', eventNames: ['Order Cancelled'] }),
    exampleDestination({ id: 'types', events: ['track'] }),
    exampleDestination({ id: 'users', events: ['identify'] }),
  ];
  assert.deepEqual(destinationsOf(route(incoming(order), ...resources)), ['names', 'types']);
  const identify = incoming({ type: 'identify', userId: 'u1', writeKey: 'wk_shop' });
  assert.deepEqual(destinationsOf(route(identify, ...resources)), ['names', 'others', 'users']);
});

test('a destination gets calls of any type whose values pass its filter', () => {
  const resources = [
    exampleDestination({ id: 'acme', filter: { 'context.groupId': 'acme' } }),
    exampleDestination({ id: 'large', filter: { 'properties.total': { gte: 100 } } }),
    exampleDestination({ id: 'small', filter: { 'properties.total': { lt: 100 } } }),
    exampleDestination({ id: 'users', events: ['identify'], filter: { userId: 'u1' } }),
  ];
  const call = { ...order, context: { groupId: 'acme' } };
  assert.deepEqual(destinationsOf(route(incoming(call), ...resources)), ['acme', 'small']);
  const identify = { type: 'identify', userId: 'u1', writeKey: 'wk_shop' };
  assert.deepEqual(destinationsOf(route(incoming(identify), ...resources)), ['users']);
});

test('a name of an event that ends in an asterisk stands for all that begin like it', () => {
  const names = (...eventNames: string[]): string[] =>
    destinationsOf(route(incoming(order), exampleDestination({ eventNames })));
  for (const eventNames of [['Order *'], ['*'], ['Page', 'Order Completed*']])
    assert.deepEqual(names(...eventNames), ['crm'], eventNames.join());
  for (const eventNames of [['order *'], ['Order* '], ['Order Completed *'], ['* Completed']])
    assert.deepEqual(names(...eventNames), [], eventNames.join());
});

test('integrations of the call can turn every webhook off', () => {
  const call = incoming({ ...order, integrations: { Webhooks: false } });
  assert.deepEqual(route(call, exampleDestination()), []);
});

test('the write key of the header wins over that of the call', () => {
  const routes = new Routes(
    new FakeConfig(
      exampleSource(),
      exampleSource({ id: 'app', writeKeys: ['wk_app'] }),
      exampleDestination({ id: 'a', sources: ['shop'] }),
      exampleDestination({ id: 'b', sources: ['app'] }),
    ),
    topics,
  );
  const withHeader = incoming(order, { headers: { 'write-key': Buffer.from('wk_app') } });
  assert.deepEqual(destinationsOf(routeWith(routes, withHeader)), ['b']);
  const withEmptyHeader = incoming(order, { headers: { 'write-key': Buffer.alloc(0) } });
  assert.deepEqual(destinationsOf(routeWith(routes, withEmptyHeader)), ['a']);
});

test('a changed destination is routed to as it is now', () => {
  const config = new FakeConfig(exampleSource(), exampleDestination());
  const routes = new Routes(config, topics);
  assert.equal(routeWith(routes, incoming(order))[0]?.topic, 'p.delivery');
  config.put(exampleDestination({ topic: 'dedicated' }));
  assert.equal(routeWith(routes, incoming(order))[0]?.topic, 'p.delivery.crm');
});

test('the same record gives the same bytes, whatever was routed before', () => {
  const config = new FakeConfig(
    exampleSource({ writeKeys: ['wk_shop_1'] }),
    exampleDestination({ id: 'a' }),
    exampleDestination({ id: 'b', payload: 'full' }),
  );
  const used = new Routes(config, topics);
  fc.assert(
    fc.property(anyCall, (call) => {
      const record = incoming({ ...call, writeKey: 'wk_shop_1' });
      if (readCall(record, noRegistry, audienceTopic).rejection !== undefined) return;
      const first = routeWith(used, record);
      const again = incoming({ ...call, writeKey: 'wk_shop_1' });
      assert.deepEqual(routeWith(new Routes(config, topics), again), first);
    }),
  );
});

test('a call that was sent again keeps the id, the time and the age of its first arrival', () => {
  const first = { topic: 'p.ingest', partition: 1, offset: 7, appendTimeMs: 1_000 };
  const headers = { [originHeader]: Buffer.from(encodeOrigin(first)) };
  const [record] = route(incoming(order, { headers }), exampleDestination());
  const envelope = envelopeOf(record as OutgoingRecord);
  assert.equal(envelope.messageId, 'p.ingest:1:7');
  assert.equal(envelope.appendTimeMs, 1_000);
  assert.equal(envelope.redrivenMs, appendTimeMs);
  assert.match(String(record?.value), /"timestamp":"1970-01-01T00:00:01.000Z"/);
});

test('the event of an audience sync says so, and a producer cannot say it of another one', () => {
  const headers = { [audienceSourceHeader]: Buffer.from('shop') };
  const said = [audienceTopic, 'p.ingest'].map((topic) => {
    const [record] = route(incoming(order, { topic, headers }), exampleDestination());
    return envelopeOf(record as OutgoingRecord).isSync;
  });
  assert.deepEqual(said, [true, undefined]);
});

test('a forged origin cannot make a call younger than its record', () => {
  const forged = { topic: 'p.ingest', partition: 1, offset: 7, appendTimeMs: appendTimeMs + 1 };
  const headers = { [originHeader]: Buffer.from(encodeOrigin(forged)) };
  const [record] = route(incoming(order, { headers }), exampleDestination());
  assert.equal(envelopeOf(record as OutgoingRecord).appendTimeMs, appendTimeMs);
});

test('a call whose record has no time that can be is routed, as one that is older than all others', () => {
  for (const timestampMs of [-1, 8.64e15 + 1, 1.7e18]) {
    const [record] = route(incoming(order, { timestampMs }), exampleDestination());
    assert.equal(envelopeOf(record as OutgoingRecord).appendTimeMs, 0, `${timestampMs}`);
    assert.match(String(record?.value), /"timestamp":"1970-01-01T00:00:00.000Z"/);
  }
});

test('a header that is no origin is ignored', () => {
  for (const text of ['', 'web', 'p:1:2', 'p:1:2:x', 'p:1:2:3:4', `p:1:2:${'9'.repeat(16)}`]) {
    const record = incoming(order, { headers: { [originHeader]: Buffer.from(text) } });
    const read = readCall(record, noRegistry, audienceTopic);
    assert.ok('arrival' in read);
    assert.equal(read.arrival.origin.offset, 42, text);
  }
});

test('an alias carries its other id in the envelope, and no other call does', () => {
  const ids = { userId: 'new', previousId: 7, writeKey: 'wk_shop' };
  const [alias] = route(incoming({ type: 'alias', ...ids }), exampleDestination());
  const [page] = route(incoming({ type: 'page', ...ids }), exampleDestination());
  assert.equal(envelopeOf(alias ?? assert.fail()).previousId, '7');
  assert.equal(String(alias?.key), 'crm:new');
  assert.equal(envelopeOf(page ?? assert.fail()).previousId, undefined);
});
