import assert from 'node:assert/strict';
import { test } from 'node:test';
import avro from 'avsc';
import { isMendable } from '../../src/event/rejection.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { createDecoder } from '../../src/schemas/decoder.ts';
import { ingestSchema } from '../../src/schemas/publish.ts';
import { SchemaBook } from '../../src/schemas/schema-book.ts';
import type { KnownSchema, Schemas } from '../../src/schemas/schemas.ts';
import { exampleDestination, exampleSource } from '../resources/examples.ts';
import { incoming, TestRouter } from './fakes.ts';

const type = avro.Type.forSchema(JSON.parse(ingestSchema) as avro.Schema, { wrapUnions: true });
const decode = createDecoder({ type: 'AVRO', schema: ingestSchema, references: [] });

/** A registry that a test makes known what and when it wants. */
class FakeSchemas implements Schemas {
  readonly known = new Map<number, KnownSchema>();
  readonly #waiting: (() => void)[] = [];

  find(id: number): KnownSchema | undefined {
    return this.known.get(id);
  }

  readonly asked = new Set<number>();

  settled(id: number): Promise<void> {
    this.asked.add(id);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  async tell(id: number): Promise<void> {
    this.known.set(id, { decode });
    for (const resolve of this.#waiting.splice(0)) resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function typed(id: number, payload: Buffer, changes: object = {}): IncomingRecord {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(id, 1);
  return incoming(Buffer.concat([header, payload]), changes);
}

function avroCall(changes: object): Buffer {
  const absent = Object.fromEntries(
    (JSON.parse(ingestSchema) as { fields: { name: string }[] }).fields.map(({ name }) => [
      name,
      null,
    ]),
  );
  return type.toBuffer({
    ...absent,
    type: 'track',
    userId: { string: 'u1' },
    writeKey: { string: 'wk_shop' },
    event: { string: 'Order Completed' },
    ...changes,
  });
}

function scene(): { router: TestRouter; schemas: FakeSchemas } {
  const router = new TestRouter(exampleSource(), exampleDestination());
  const schemas = new FakeSchemas();
  router.schemas = schemas;
  return { router, schemas };
}

function bodyOf(router: TestRouter, index = 0): unknown {
  return JSON.parse(String(router.written[index]?.record.value));
}

function reasonOf(router: TestRouter): unknown {
  return router.written[0]?.record.headers?.['reason'];
}

test('a typed call becomes the body that its JSON would have become', () => {
  const { router, schemas } = scene();
  schemas.known.set(1, { decode });
  const payload = avroCall({
    messageId: { string: 'm1' },
    timestamp: { long: Date.parse('2026-11-20T18:59:40.123Z') },
    properties: {
      map: { revenue: { double: 39.95 }, coupon: null, items: { array: [{ long: 1 }] } },
    },
    context: { string: '{"ip":"203.0.113.7"}' },
  });
  router.take(typed(1, payload));
  assert.deepEqual(bodyOf(router), {
    version: 1,
    type: 'track',
    userId: 'u1',
    event: 'Order Completed',
    properties: { revenue: 39.95, coupon: null, items: [1] },
    context: { ip: '203.0.113.7' },
    timestamp: '2026-11-20T18:59:40.123Z',
  });
});

test('a typed call keeps all rules of a call: ids, times, integrations and what it lacks', () => {
  const { router, schemas } = scene();
  schemas.known.set(1, { decode });
  router.take(typed(1, avroCall({ integrations: { map: { All: false } } })));
  assert.equal(router.metrics.unwanted, 1);
  router.take(typed(1, avroCall({ event: null }), { offset: 43 }));
  assert.equal(reasonOf(router), 'no-event');
  router.written.splice(0);
  router.take(typed(1, avroCall({}), { offset: 44 }));
  const envelope = String(router.written[0]?.record.headers?.['postrider']);
  assert.match(envelope, /"m":"p\.ingest:3:44"/);
  assert.match(String(router.written[0]?.record.value), /"timestamp":"2026-11-20T18:59:40.123Z"/);
});

test('bytes that do not fit their schema are rejected as they came, with a reason that stays', () => {
  const { router, schemas } = scene();
  schemas.known.set(1, { decode });
  const record = typed(1, avroCall({}).subarray(0, 9));
  router.take(record);
  assert.equal(reasonOf(router), 'undecodable');
  assert.equal(router.written[0]?.record.value, record.value);
  assert.equal(isMendable('undecodable'), false);
});

test('a record above 32 KB is rejected without asking for its schema, and so is a body above it', () => {
  const { router, schemas } = scene();
  router.take(typed(9, Buffer.alloc(32 * 1024)));
  assert.equal(reasonOf(router), 'too-large');
  router.written.splice(0);
  schemas.known.set(1, { decode });
  // Each character takes two bytes as JSON.
  const text = '"'.repeat(20_000);
  router.take(typed(1, avroCall({ properties: { map: { text: { string: text } } } })));
  assert.equal(reasonOf(router), 'too-large');
});

test('without a registry a typed record is rejected, and a registry mends that', () => {
  const router = new TestRouter(exampleSource());
  router.take(typed(1, avroCall({})));
  assert.equal(reasonOf(router), 'no-registry');
  assert.ok(isMendable('no-registry'));
});

test('a schema id that no registry can give is unknown at once, and stalls nothing', () => {
  const { router } = scene();
  router.schemas = new SchemaBook({
    fetchSchema: () => assert.fail('asked for'),
    isAwake: () => assert.fail('asked for'),
    clock: { now: () => 0, steadyNow: () => 0, after: () => assert.fail('waits') },
    onDelay: () => assert.fail('failed'),
  });
  router.take(typed(0x80000000, avroCall({})), typed(0xffffffff, avroCall({}), { offset: 43 }));
  assert.equal(router.stalledRecords, 0);
  assert.deepEqual(
    router.written.map(({ record }) => record.headers?.['reason']),
    ['unknown-schema', 'unknown-schema'],
  );
});

test('a record whose schema is not known yet stops its partition, in order, and no other one', async () => {
  const { router, schemas } = scene();
  const json = { type: 'identify', userId: 'u1', writeKey: 'wk_shop' };
  router.take(typed(1, avroCall({}), { offset: 1 }), incoming(json, { offset: 2 }));
  router.take(incoming(json, { offset: 3 }));
  router.take(incoming(json, { offset: 10, partition: 4 }));
  router.acknowledge();
  assert.deepEqual(router.finished, [10]);
  assert.equal(router.stalledRecords, 3);
  await schemas.tell(1);
  assert.equal(router.stalledRecords, 0);
  router.acknowledge();
  assert.deepEqual(router.finished, [10, 1, 2, 3]);
});

test('a second unknown schema behind the first stops the partition again', async () => {
  const { router, schemas } = scene();
  const payload = avroCall({});
  router.take(typed(1, payload, { offset: 1 }), typed(2, payload, { offset: 2 }));
  await schemas.tell(1);
  assert.equal(router.stalledRecords, 1);
  await schemas.tell(2);
  router.acknowledge();
  assert.deepEqual(router.finished, [1, 2]);
});

test('unknown schemas of one partition are asked for at once, not one after the other', () => {
  const { router, schemas } = scene();
  schemas.known.set(4, { decode });
  const ids = [1, 2, 3, 4];
  router.take(...ids.map((id, i) => typed(id, avroCall({}), { offset: i })));
  assert.deepEqual([...schemas.asked], [1, 2, 3]);
});

test('what waits for a schema in a partition that goes is released, with what is behind it', async () => {
  const { router, schemas } = scene();
  const json = { type: 'identify', userId: 'u1', writeKey: 'wk_shop' };
  router.take(typed(1, avroCall({}), { offset: 1 }), incoming(json, { offset: 2 }));
  router.take(typed(1, avroCall({}), { offset: 3, partition: 4 }));
  router.drop({ topic: 'p.ingest', partition: 3 });
  assert.deepEqual([router.released, router.stalledRecords], [[1, 2], 1]);
  await schemas.tell(1);
  router.acknowledge();
  assert.deepEqual([router.finished, router.released], [[3], [1, 2]]);
});

test('what waited goes before what came of its partition meanwhile, also when the router is full', async () => {
  const ids = Array.from({ length: 300 }, (_, i) => `d${i}`);
  const router = new TestRouter(exampleSource(), ...ids.map((id) => exampleDestination({ id })));
  const schemas = new FakeSchemas();
  router.schemas = schemas;
  const json = { type: 'identify', userId: 'u1', writeKey: 'wk_shop' };
  router.take(typed(1, avroCall({}), { offset: 1 }));
  const others = Array.from({ length: 20 }, (_, i) => ({ offset: 100 + i, partition: 4 }));
  router.take(...others.map((place) => incoming(json, place)));
  router.take(incoming(json, { offset: 2 }));
  await schemas.tell(1);
  while (router.written.length > 0) router.acknowledge();
  assert.deepEqual(
    router.finished.filter((offset) => offset < 100),
    [1, 2],
  );
});

test('a router that stops finishes what it has begun and releases what waits, for the next one', async () => {
  const { router, schemas } = scene();
  const json = { type: 'identify', userId: 'u1' };
  router.take(incoming({ ...json, writeKey: 'wk_shop' }, { offset: 1, partition: 4 }));
  router.take(incoming('no JSON', { offset: 2, partition: 4 }));
  router.take(typed(1, avroCall({}), { offset: 3 }));
  router.take(incoming({ ...json, writeKey: 'not known yet' }, { offset: 4, partition: 4 }));
  router.stop();
  assert.deepEqual(router.released, [4, 3]);
  assert.equal(router.isIdle, false);
  router.take(incoming({ ...json, writeKey: 'wk_shop' }, { offset: 5, partition: 4 }));
  router.acknowledge();
  assert.ok(router.isIdle);
  assert.deepEqual(router.finished, [1, 2]);
  router.drop({ topic: 'p.ingest', partition: 4 });
  assert.deepEqual(router.released, [4, 3, 5]);
  await schemas.tell(1);
  await router.look();
  assert.deepEqual([router.written.length, router.stalledRecords, router.heldCalls], [0, 0, 0]);
});
