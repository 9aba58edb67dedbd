import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostriderError } from '../../src/errors.ts';
import { maxCallBytes } from '../../src/event/limits.ts';
import { maxBytesOf, mergedHeader } from '../../src/event/parse-call.ts';
import { encodeOrigin, originHeader } from '../../src/event/headers.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { exampleDestination, exampleSource } from '../resources/examples.ts';
import { appendTimeMs, TestRouter, incoming } from './fakes.ts';

const refused = new PostriderError('record-refused', 'too large');

function call(offset: number, user = 'u1', writeKey = 'wk_shop'): IncomingRecord {
  return incoming({ type: 'identify', userId: user, writeKey }, { offset });
}

/** Where each record went and whose it is, e.g. `p.delivery crm:u1`. */
function writtenBy(router: TestRouter): string[] {
  return router.written.map(({ record }) => `${record.topic} ${String(record.key)}`);
}

test('a call is finished only when all its copies are acknowledged', () => {
  const router = new TestRouter(
    exampleSource(),
    ...['a', 'b'].map((id) => exampleDestination({ id })),
  );
  router.take(call(1));
  const [first, second] = router.written;
  second?.done();
  assert.deepEqual(router.finished, []);
  first?.done();
  assert.deepEqual(router.finished, [1]);
  assert.equal(router.metrics.routed, 1);
});

test('a call that no destination wants is finished at once and counted', () => {
  const router = new TestRouter(exampleSource());
  router.take(call(1));
  assert.deepEqual(router.finished, [1]);
  assert.equal(router.metrics.unwanted, 1);
});

test('a call of a suppressed user goes nowhere and is counted, until that is lifted', () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  router.suppressed.set('u1', 0);
  router.take(call(1), call(2, 'u2'));
  assert.deepEqual(writtenBy(router), ['p.delivery crm:u2']);
  assert.deepEqual(router.finished, [1]);
  assert.equal(router.metrics.suppressed, 1);
  router.suppressed.clear();
  router.take(call(3));
  assert.equal(router.written.length, 2);
});

test('a bad record is rejected with its bytes, key and headers, and its neighbours go on', () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  const bad = incoming('{"type":', { offset: 1, headers: { trace: Buffer.from('t') } });
  router.take(bad, call(2));
  assert.deepEqual(writtenBy(router), ['p.ingest.rejected u1', 'p.delivery crm:u1']);
  const rejected = router.written[0]?.record;
  assert.equal(rejected?.value, bad.value);
  assert.deepEqual(rejected.headers, {
    trace: Buffer.from('t'),
    reason: 'invalid-json',
    detail: 'The value is not JSON.',
    [originHeader]: `p.ingest:3:1:${appendTimeMs}`,
  });
  router.acknowledge();
  assert.deepEqual(router.finished, [1, 2]);
  assert.deepEqual([...router.metrics.rejected], [['invalid-json', 1]]);
});

test('whoever sets the header `merged` by hand gains what the gateway gives every client: more bytes', () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  const headers = { [mergedHeader]: Buffer.from('yes') };
  const most = maxBytesOf(headers);
  const ofBytes = (bytes: number): string => {
    const fields = { type: 'identify', userId: 'u1', writeKey: 'wk_shop', traits: { long: '' } };
    const empty = JSON.stringify(fields).length;
    return JSON.stringify({ ...fields, traits: { long: 'x'.repeat(bytes - empty) } });
  };
  router.take(
    incoming(ofBytes(most), { offset: 1, headers }),
    incoming(ofBytes(most + 1), { offset: 2, headers }),
    incoming(ofBytes(maxCallBytes + 1), { offset: 3 }),
  );
  assert.deepEqual(
    router.written.map(({ record }) => [record.topic, record.headers?.['reason']]),
    [
      ['p.delivery', undefined],
      ['p.ingest.rejected', 'too-large'],
      ['p.ingest.rejected', 'too-large'],
    ],
  );
  // A body is never larger than its call, and Kafka takes records of a megabyte.
  assert.ok(most < 400 * 1024);
});

test('a record that is rejected again keeps the origin of its first arrival', () => {
  const router = new TestRouter(exampleSource());
  const first = encodeOrigin({ topic: 'p.web', partition: 1, offset: 7, appendTimeMs: 5 });
  router.take(incoming('nothing', { headers: { [originHeader]: Buffer.from(first) } }));
  assert.equal(router.written[0]?.record.headers?.[originHeader], first);
});

test('a header without a value does not keep a record from being rejected', () => {
  const router = new TestRouter(exampleSource());
  router.take(incoming('nothing', { headers: { empty: undefined } }));
  assert.deepEqual(router.written[0]?.record.headers?.['empty'], Buffer.alloc(0));
});

test('a call without a write key is rejected', () => {
  const router = new TestRouter(exampleSource());
  router.take(incoming({ type: 'identify', userId: 'u1' }));
  assert.equal(router.written[0]?.record.headers?.['reason'], 'no-write-key');
});

test('a call whose write key becomes known meanwhile is routed', async () => {
  const router = new TestRouter(exampleDestination());
  router.take(call(1));
  assert.equal(router.written.length, 0);
  router.config.put(exampleSource());
  await router.look();
  assert.deepEqual(writtenBy(router), ['p.delivery crm:u1']);
});

test('a write key that stays unknown rejects its calls after one shared look', async () => {
  const router = new TestRouter();
  router.take(call(1), call(2, 'u2'), call(3, 'u3'));
  assert.equal(router.looks.length, 1);
  await router.look();
  assert.equal(router.written.length, 3);
  assert.equal(router.looks.length, 0);
  const { headers = {} } = router.written[2]?.record ?? {};
  assert.equal(headers['reason'], 'unknown-write-key');
  assert.equal(headers['detail'], 'No source has the write key "wk_shop".');
});

test('a call that comes during a look waits for the next one: its source may be newer than the look', async () => {
  const router = new TestRouter(exampleDestination());
  router.take(call(1, 'u1', 'wk_other'));
  router.take(call(2, 'u2'));
  await router.look();
  assert.deepEqual(writtenBy(router), ['p.ingest.rejected u1']);
  router.config.put(exampleSource());
  await router.look();
  assert.deepEqual(writtenBy(router), ['p.ingest.rejected u1', 'p.delivery crm:u2']);
});

test('no call overtakes a held one of its user, and other users do not wait', async () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  router.take(call(1, 'u1', 'wk_new'), call(2, 'u1'), call(3, 'u2'));
  assert.deepEqual(writtenBy(router), ['p.delivery crm:u2']);
  router.config.put(exampleSource({ writeKeys: ['wk_shop', 'wk_new'] }));
  await router.look();
  router.acknowledge();
  assert.deepEqual(router.finished, [3, 1, 2]);
});

test('a user whose next call is held for a later look keeps the order', async () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  router.take(call(1, 'u1', 'wk_a'));
  router.take(call(2, 'u1', 'wk_b'), call(3, 'u1'));
  await router.look();
  router.acknowledge();
  assert.deepEqual(router.finished, [1]);
  await router.look();
  router.acknowledge();
  assert.deepEqual(router.finished, [1, 2, 3]);
  router.take(call(4));
  assert.equal(router.heldCalls, 0);
});

test('a user whose held call is settled no longer waits for those of others', async () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  router.take(call(1, 'u1', 'wk_other'));
  await router.look();
  router.take(call(2, 'u2', 'wk_other'), call(3, 'u1'));
  assert.deepEqual(writtenBy(router), ['p.ingest.rejected u1', 'p.delivery crm:u1']);
});

test('a held call keeps nothing of the fetch response that it came in', async () => {
  const router = new TestRouter();
  const { value } = call(1);
  assert.ok(value !== null);
  const response = Buffer.concat([value, Buffer.alloc(1_000_000)]);
  router.take(incoming('', { value: response.subarray(0, value.length) }));
  await router.look();
  const kept = router.written[0]?.record.value;
  assert.ok(Buffer.isBuffer(kept));
  assert.deepEqual(kept, value);
  assert.ok(kept.buffer.byteLength < 1_000, `${kept.buffer.byteLength} bytes`);
});

test('calls whose source comes late become no more records at a time than others', async () => {
  const router = new TestRouter();
  const users = Array.from({ length: 300 }, (_, offset) => offset);
  router.take(...users.map((offset) => call(offset, `u${offset % 7}`)));
  router.config.put(exampleSource());
  for (let n = 0; n < 100; n += 1) router.config.put(exampleDestination({ id: `d${n}` }));
  await router.look();
  assert.equal(router.written.length, 5_000);
  router.take(call(300, 'u1'));
  while (!router.isIdle) {
    router.acknowledge();
    await router.look();
  }
  assert.deepEqual(router.finished, [...users, 300]);
});

test('held calls of a partition that goes are released', async () => {
  const router = new TestRouter();
  router.take(
    call(1),
    incoming({ type: 'identify', userId: 'u', writeKey: 'x' }, { partition: 4 }),
  );
  router.drop({ topic: 'p.ingest', partition: 3 });
  assert.deepEqual(router.released, [1]);
  await router.look();
  assert.deepEqual(
    router.written.map(({ record }) => record.headers?.[originHeader]),
    [`p.ingest:4:42:${appendTimeMs}`],
  );
});

test('a call is rejected when Kafka refuses one of its copies, once all are answered for', () => {
  const router = new TestRouter(
    exampleSource(),
    ...['a', 'b'].map((id) => exampleDestination({ id })),
  );
  router.take(call(1));
  const [first, second] = router.written.splice(0);
  first?.done(refused);
  assert.equal(router.written.length, 0);
  second?.done();
  assert.deepEqual(writtenBy(router), ['p.ingest.rejected u1']);
  assert.equal(router.written[0]?.record.headers?.['reason'], 'unwritable');
  router.acknowledge();
  assert.deepEqual(router.finished, [1]);
});

test('a record that cannot even be rejected is never finished, and nobody works on it', async () => {
  const router = new TestRouter(exampleSource());
  router.take(incoming('nothing', { offset: 1 }));
  const [rejected] = router.written;
  rejected?.done(refused);
  assert.deepEqual([router.finished, router.released], [[], [1]]);
  assert.equal((await router.metrics.stuck.get()).values[0]?.value, 1);
});

test('a call of many destinations does not take memory without bound, and none is left behind', () => {
  const ids = Array.from({ length: 300 }, (_, i) => `d${i}`);
  const router = new TestRouter(exampleSource(), ...ids.map((id) => exampleDestination({ id })));
  const offsets = Array.from({ length: 500 }, (_, i) => i);
  router.take(...offsets.map((offset) => call(offset)));
  let most = 0;
  while (router.written.length > 0) {
    most = Math.max(most, router.written.length);
    router.acknowledge();
  }
  assert.ok(most < 5_300, `${most} records on their way`);
  assert.deepEqual(router.finished, offsets);
});

test('waiting records of a partition that goes are released, those on their way are finished', () => {
  const ids = Array.from({ length: 300 }, (_, i) => `d${i}`);
  const router = new TestRouter(exampleSource(), ...ids.map((id) => exampleDestination({ id })));
  const offsets = Array.from({ length: 100 }, (_, i) => i);
  router.take(...offsets.map((offset) => call(offset)));
  const begun = router.written.length / ids.length;
  assert.ok(begun > 0 && begun < 100);
  router.drop({ topic: 'p.ingest', partition: 3 });
  assert.deepEqual([router.finished, router.released], [[], offsets.slice(begun)]);
  router.acknowledge();
  assert.deepEqual(router.finished, offsets.slice(0, begun));
  assert.equal(router.written.length, 0);
});

test('a copy that Kafka refuses after its partition has gone is rejected all the same', () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  router.take(call(1));
  router.drop({ topic: 'p.ingest', partition: 3 });
  router.written.shift()?.done(refused);
  assert.deepEqual(writtenBy(router), ['p.ingest.rejected u1']);
  router.acknowledge();
  assert.deepEqual([router.finished, router.released], [[1], []]);
});

test('a mistake in our own code rejects the record and goes on with the next', () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  const { config } = router;
  const destinationsOf = config.destinationsOf.bind(config);
  config.destinationsOf = (): never => {
    throw new TypeError(`no\u001b[2J ${'long'.repeat(1_000_000)}`);
  };
  router.take(call(1));
  config.destinationsOf = destinationsOf;
  router.take(call(2));
  assert.deepEqual(writtenBy(router), ['p.ingest.rejected u1', 'p.delivery crm:u1']);
  const { reason, detail } = router.written[0]?.record.headers ?? {};
  assert.equal(reason, 'unroutable');
  assert.match(String(detail), /^The router failed: "TypeError: no\\u001b\[2J [long]{1,100}"\.$/);
});

function withId(messageId: string, offset: number, user = 'u1'): IncomingRecord {
  return incoming({ type: 'identify', userId: user, messageId, writeKey: 'wk_shop' }, { offset });
}

test('a call that was sent again is dropped once the first one is safe, and counted', () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  router.take(withId('m', 1));
  router.acknowledge();
  router.take(withId('m', 2));
  assert.equal(router.written.length, 0);
  assert.deepEqual(router.finished, [1, 2]);
  assert.equal(router.metrics.duplicates, 1);
  assert.equal(router.metrics.routed, 1);
});

test('a duplicate of a call on its way waits for it and is dropped with its success', () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  router.take(withId('m', 1), withId('m', 2), withId('m', 3), withId('n', 4));
  assert.deepEqual(writtenBy(router), ['p.delivery crm:u1', 'p.delivery crm:u1']);
  assert.deepEqual(router.finished, []);
  router.acknowledge();
  assert.deepEqual(router.finished, [1, 2, 3, 4]);
  assert.equal(router.metrics.duplicates, 2);
});

test('when the first of equal calls fails, the next one takes its place: nothing is lost', () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  router.take(withId('m', 1), withId('m', 2), withId('m', 3));
  router.written.shift()?.done(refused);
  assert.deepEqual(writtenBy(router), ['p.ingest.rejected u1', 'p.delivery crm:u1']);
  router.acknowledge();
  assert.deepEqual(router.finished, [1, 2, 3]);
  assert.equal(router.metrics.duplicates, 1);
  assert.equal(router.metrics.routed, 1);
});

test('a call that was rejected, or that nobody wanted, makes no later one a duplicate', () => {
  const router = new TestRouter(exampleSource());
  router.take(withId('m', 1));
  assert.equal(router.metrics.unwanted, 1);
  router.config.put(exampleDestination());
  router.take(withId('m', 2));
  router.written.shift()?.done(refused);
  router.acknowledge();
  router.take(withId('m', 3));
  assert.deepEqual(writtenBy(router), ['p.delivery crm:u1']);
});

for (const [what, end] of [
  ['is safe', undefined],
  ['fails', refused],
] as const)
  test(`duplicates in a partition that goes are released, whether their first ${what} or not`, () => {
    const router = new TestRouter(exampleSource(), exampleDestination());
    router.take(withId('m', 1), withId('m', 2), withId('n', 3), withId('n', 4), withId('m', 5));
    router.drop({ topic: 'p.ingest', partition: 3 });
    assert.deepEqual(router.released, [2, 5, 4]);
    for (const { done } of router.written.splice(0)) done(end);
    router.acknowledge();
    assert.deepEqual(
      [router.finished, router.released],
      [
        [1, 3],
        [2, 5, 4],
      ],
    );
    assert.equal(router.written.length, 0);
  });

test('a partition that goes and comes again routes what it had on its way', () => {
  const router = new TestRouter(exampleSource(), exampleDestination());
  router.take(withId('m', 1), withId('m', 2));
  const [late] = router.written.splice(0);
  router.drop({ topic: 'p.ingest', partition: 3 });
  assert.deepEqual(router.released, [2]);
  router.take(withId('m', 2));
  assert.deepEqual(writtenBy(router), ['p.delivery crm:u1']);
  late?.done();
  router.acknowledge();
  assert.deepEqual(router.finished, [1, 2]);
  assert.equal(router.metrics.duplicates, 0);
});
