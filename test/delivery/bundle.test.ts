import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import {
  compressEvents,
  decodeBundleHeader,
  decompressEvents,
  encodeBundleHeader,
} from '../../src/delivery/bundle/format.ts';
import { EventPacker, unpackRecords } from '../../src/delivery/packing.ts';
import { decodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { PostriderError } from '../../src/errors.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { answerOk, failsWith, hangs, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

/** The breaker of `crm` is open, and nothing has been put off yet. */
async function away(): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 5 });
  world.answer = () => hangs;
  for (let i = 0; i < 5; i++) world.publish('crm', `first${i}`);
  await world.clock.pass(5_100);
  return world;
}

function publishMany(world: SimulatedWorld, count: number): string[] {
  return Array.from({ length: count }, (_, n) => world.publish('crm', `u${n}`));
}

async function mostQueuedInAnHour(world: SimulatedWorld): Promise<number> {
  let mostQueued = 0;
  for (let step = 0; step < 3_600; step++) {
    await world.clock.pass(1_000);
    mostQueued = Math.max(mostQueued, world.engine.state().queued);
  }
  return mostQueued;
}

const isBundle = ({ headers }: OutgoingRecord): boolean =>
  decodeEnvelope(Buffer.from(headers?.[envelopeHeader] ?? '')) === undefined;

describe('what an open breaker puts off', () => {
  test('goes into few records, and each event is delivered when the breaker closes', async () => {
    const world = await away();
    const ids = publishMany(world, 300);
    await world.clock.pass(hourMs);
    assert.ok(world.retries.length > 1_000, `${world.retries.length} events written`);
    assert.ok(world.retryRecords < world.retries.length / 5, `${world.retryRecords} records`);
    world.answer = () => answerOk;
    await world.clock.pass(hourMs);
    const got = new Map(
      world.requests
        .filter(({ messageId }) => world.delivered.includes(messageId))
        .map(({ messageId, body }) => [messageId, body]),
    );
    for (const id of ids) assert.equal(got.get(id), `{"n":"${id}"}`);
    assert.equal(new Set(world.delivered).size, world.delivered.length);
    assert.equal(world.finished.length, 305 + world.retries.length);
    assert.ok(world.engine.isIdle);
  });

  test('is one plain record where it is one event', async () => {
    const world = await away();
    const records: OutgoingRecord[] = [];
    world.readerOf = (record) => (records.push(record), world);
    world.publish('crm', 'alone');
    await world.clock.pass(1_000);
    assert.deepEqual(records.filter(({ key }) => String(key) === 'crm:alone').map(isBundle), [
      false,
    ]);
  });

  test('holds on to none of the memory that small buffers share', async () => {
    const world = await away();
    const records: OutgoingRecord[] = [];
    world.readerOf = (record) => (records.push(record), world);
    publishMany(world, 100);
    await world.clock.pass(1_000);
    const keys = records.filter(isBundle).map(({ key }) => key);
    assert.ok(keys.length > 0);
    for (const key of keys)
      assert.ok(Buffer.isBuffer(key) && key.buffer.byteLength === key.length, String(key));
  });

  test('keeps the retry clock of each event', async () => {
    const world = await away();
    const endMs = new Map(publishMany(world, 50).map((id) => [id, world.clock.now() + 4 * hourMs]));
    for (let n = 0; n < 50; n++) {
      const deadlineMs = world.clock.now() + (1 + n / 50) * hourMs;
      const changes = { dueMs: world.clock.now(), deadlineMs };
      endMs.set(world.publish('crm', `returned${n}`, changes, 'retry.10s'), deadlineMs);
    }
    const givenUpMs = new Map<string, number>();
    for (let step = 0; step < 2_000; step++) {
      await world.clock.pass(10_000);
      for (const { messageId } of world.deadLetters)
        if (!givenUpMs.has(messageId)) givenUpMs.set(messageId, world.clock.now());
    }
    for (const [id, deadlineMs] of endMs) {
      const lateMs = (givenUpMs.get(id) ?? Infinity) - deadlineMs;
      assert.ok(lateMs > -3 * minuteMs && lateMs < minuteMs, `${id} ended ${lateMs} ms late`);
    }
    assert.ok(world.deadLetters.every(({ reason }) => reason === 'expired'));
  });

  test('is given up alone when it is too old, and its company is put off again', async () => {
    const world = await away();
    // The first bundle that comes back is unpacked for the probe.
    publishMany(world, 260);
    const old = { appendTimeMs: world.clock.now() - 72 * hourMs + 5_000 };
    const oldId = world.publish('crm', 'old', old);
    publishMany(world, 20);
    // Once they have come back, and whoever waited for the probe knows what became of it.
    await world.clock.pass(17_000);
    assert.deepEqual(
      world.deadLetters.map(({ messageId, reason }) => [messageId, reason]),
      [[oldId, 'too-old']],
    );
    world.answer = () => answerOk;
    await world.clock.pass(hourMs);
    assert.equal(world.delivered.length, 285);
  });

  test('takes no other with it where its ids are large', async () => {
    const world = await away();
    publishMany(world, 20);
    const key = Buffer.alloc(5 * 1024 * 1024, 'k');
    const headers = { [envelopeHeader]: world.envelopeFor('crm') };
    world.take({ topic: 'delivery', key, value: '{}', headers });
    publishMany(world, 20);
    await world.clock.pass(minuteMs);
    world.answer = () => answerOk;
    await world.clock.pass(hourMs);
    assert.deepEqual([world.delivered.length, world.deadLetters.length], [46, 0]);
  });

  test('is dropped where its user was deleted meanwhile', async () => {
    const world = await away();
    publishMany(world, 20);
    await world.clock.pass(minuteMs);
    world.fence.delete('shop', 'u7', world.clock.now());
    world.answer = () => answerOk;
    await world.clock.pass(hourMs);
    assert.equal(world.delivered.length, 24);
  });
});

describe('a record with several events', () => {
  test('that a retry topic refuses is written event by event', async () => {
    const world = await away();
    let refused = 0;
    world.refuses = (topic, record) => {
      if (!topic.startsWith('retry') || !isBundle(record)) return undefined;
      refused += 1;
      return new PostriderError('record-refused', 'too large');
    };
    publishMany(world, 40);
    await world.clock.pass(minuteMs);
    assert.ok(refused > 0);
    world.answer = () => answerOk;
    await world.clock.pass(hourMs);
    assert.deepEqual([world.delivered.length, world.deadLetters.length], [45, 0]);
  });

  test('that is refused only when it has come back is written event by event then', async () => {
    const world = await away();
    // The first bundle that comes back is unpacked for the probe.
    publishMany(world, 600);
    await world.clock.pass(1_000);
    world.refuses = (topic, record) =>
      topic.startsWith('retry') && isBundle(record)
        ? new PostriderError('record-refused', 'too large')
        : undefined;
    await world.clock.pass(minuteMs);
    world.answer = () => answerOk;
    await world.clock.pass(hourMs);
    assert.deepEqual([world.delivered.length, world.deadLetters.length], [605, 0]);
  });

  test('is read again whole by the next owner, if one of its events was not finished', async () => {
    const world = await away();
    const ids = publishMany(world, 40);
    await world.clock.pass(1_000);
    // The tenth one hangs.
    world.answer = (_url, { messageId }) => (messageId === ids[9] ? hangs : answerOk);
    while (!world.requests.some(({ messageId }) => messageId === ids[9]))
      await world.clock.pass(1_000);
    const again = world.topology.retryTiersMs.flatMap((tierMs) =>
      world.lose(world.topology.retryTopic(tierMs)),
    );
    world.answer = () => answerOk;
    for (const record of again) world.take(record);
    await world.clock.pass(hourMs);
    assert.deepEqual(
      ids.filter((id) => !world.delivered.includes(id)),
      [],
    );
  });

  test('that cannot be read is a dead letter, bytes untouched', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    const letters: OutgoingRecord[] = [];
    world.refuses = (_topic, record) => (letters.push(record), undefined);
    const header = encodeBundleHeader({ destinationId: 'crm', events: 2, dueMs: 1, oldestMs: 1 });
    const one = new EventPacker();
    one.add(null, world.envelopeFor('crm'), Buffer.from('{}'));
    for (const value of ['nonsense', compressEvents(one.packed)])
      world.publishRaw({ [envelopeHeader]: header }, value);
    world.publishRaw({ [envelopeHeader]: header }, null);
    await world.clock.pass(1_000);
    assert.deepEqual(
      letters.map(({ headers }) => [headers?.['reason'], headers?.['detail']]),
      ['no readable bundle', 'no readable bundle', 'no body'].map((why) => ['malformed', why]),
    );
    assert.equal(String(letters[0]?.value), 'nonsense');
    assert.equal(String(letters[0]?.headers?.[envelopeHeader]), header);
  });
});

test('an event of a bundle that cannot be read is a dead letter, and the others are delivered', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  const letters: OutgoingRecord[] = [];
  world.refuses = (_topic, record) => (letters.push(record), undefined);
  const packer = new EventPacker();
  packer.add(Buffer.from('crm:u'), world.envelopeFor('crm'), Buffer.from('{}'));
  packer.add(Buffer.from('crm:v'), 'nonsense', Buffer.from('{"kept":1}'));
  const header = encodeBundleHeader({ destinationId: 'crm', events: 2, dueMs: 1, oldestMs: 1 });
  world.publishRaw({ [envelopeHeader]: header }, compressEvents(packer.packed));
  await world.clock.pass(1_000);
  assert.deepEqual(world.delivered, ['raw']);
  assert.deepEqual(
    letters.map(({ key, value, headers }) => [String(key), String(value), headers?.['reason']]),
    [['crm:v', '{"kept":1}', 'malformed']],
  );
  assert.equal(world.finished.length, 1);
});

test('a worker that stops has written what it had gathered', async () => {
  const world = await away();
  const ids = publishMany(world, 20);
  world.engine.stop();
  assert.equal(world.engine.isIdle, false);
  await world.clock.pass(300);
  assert.equal(world.engine.isIdle, true);
  assert.deepEqual(
    ids.filter((id) => !world.finished.includes(id)),
    [],
  );
});

test('a lane that has enough to do leaves what is packed in its retry topic', async () => {
  const world = await away();
  publishMany(world, 3_000);
  await world.clock.pass(minuteMs);
  world.answer = () => ({ ...answerOk, afterMs: 100 });
  const mostQueued = await mostQueuedInAnHour(world);
  assert.ok(mostQueued <= 512 + 256, `${mostQueued} events waited`);
  assert.equal(world.delivered.length, 3_005);
});

test('what has come back gets its share beside fresh events that never end', async () => {
  const world = await away();
  const ids = publishMany(world, 1_000);
  await world.clock.pass(minuteMs);
  // 50 events a second, of which a little more come.
  world.answer = () => ({ ...answerOk, afterMs: 100 });
  for (let n = 0; n < 800; n++) world.publish('crm', `v${n}`);
  for (let second = 0; second < 300; second++) {
    for (let n = 0; n < 60; n++) world.publish('crm', `w${second}-${n}`);
    await world.clock.pass(1_000);
  }
  const delivered = new Set(world.delivered);
  assert.equal(ids.filter((id) => !delivered.has(id)).length, 0);
  const fresh = world.delivered.length - ids.length;
  assert.ok(fresh > 300 * 50 * 0.25, `${fresh} fresh events delivered`);
});

test('a lane that has enough to do of one user leaves what is packed, too', async () => {
  const world = await away();
  for (let n = 0; n < 1_500; n++) world.publish('crm', 'one');
  await world.clock.pass(minuteMs);
  world.answer = () => ({ ...answerOk, afterMs: 100 });
  const mostQueued = await mostQueuedInAnHour(world);
  assert.ok(mostQueued <= 512 + 256, `${mostQueued} events waited`);
  assert.equal(world.delivered.length, 1_505);
});

test('what falls behind comes back to an open breaker, which starts its clock then', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 2 });
  world.addDestination('other');
  world.answer = (url) => (url.includes('crm') ? { ...answerOk, afterMs: 1_000 } : answerOk);
  const ids = publishMany(world, 1_500);
  for (let i = 0; i < 5; i++) {
    world.publish('other', `o${i}`);
    await world.clock.pass(1_000);
  }
  const isTheirs = ({ messageId }: { messageId: string }): boolean => ids.includes(messageId);
  assert.ok(world.retries.some(({ envelope }) => isTheirs(envelope)));
  assert.ok(world.retries.every(({ envelope }) => envelope.deadlineMs === undefined));
  world.answer = (url) => (url.includes('crm') ? failsWith(500) : answerOk);
  const failsFromMs = world.clock.now();
  await world.clock.pass(5 * hourMs);
  const given = world.deadLetters.filter(isTheirs);
  assert.equal(given.length + world.delivered.filter((id) => ids.includes(id)).length, 1_500);
  const deadlines = world.retries.flatMap(({ envelope: { deadlineMs = [] } }) => deadlineMs);
  assert.ok(deadlines.every((deadlineMs) => deadlineMs >= failsFromMs + 4 * hourMs - 1_000));
});

describe('the format', () => {
  const buffer = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
  const event = fc.record({
    key: fc.option(buffer),
    envelope: fc.string({ unit: 'grapheme' }),
    body: buffer,
  });

  test('gives back what was packed, and nothing for a part of it', () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 1 }), fc.nat(), (events, cut) => {
        const packer = new EventPacker();
        // As text, or as the bytes that it came in.
        for (const [n, { key, envelope, body }] of events.entries())
          packer.add(key, n % 2 === 0 ? envelope : Buffer.from(envelope), body);
        const read = decompressEvents(compressEvents(packer.packed)) ?? [];
        assert.deepEqual(
          read.map(({ key, header, value }) => ({ key, envelope: header.toString(), body: value })),
          events.map(({ key, envelope, body }) => ({ key, envelope, body })),
        );
        const part = unpackRecords(packer.packed.subarray(0, cut % packer.bytes), events.length);
        assert.ok(part === undefined || part.length < events.length);
      }),
    );
  });

  test('makes nothing of more events than there may be', () => {
    const packer = new EventPacker();
    for (let n = 0; n < 80_000; n++) packer.add(null, '', Buffer.alloc(0));
    const { packed } = packer;
    const slice = packed.subarray.bind(packed);
    let slices = 0;
    packed.subarray = (start, end) => ((slices += 1), slice(start, end));
    assert.ok(unpackRecords(packed, 3) === undefined);
    assert.ok(slices <= 3 * 3, `${slices} slices`);
  });

  test('of the header likewise', () => {
    const deadlines = { deadlineMs: 9, impliedDeadlineMs: 10 };
    const header = {
      destinationId: 'crm',
      uid: 'second',
      events: 3,
      dueMs: 5,
      ...deadlines,
      oldestMs: 4,
    };
    for (const each of [header, { ...header, uid: undefined }])
      assert.deepEqual(decodeBundleHeader(Buffer.from(encodeBundleHeader(each))), each);
    for (const text of ['', '{}', 'null', '{"v":2}', '{"v":1,"d":"crm","e":3,"u":5,"o":4}'])
      assert.equal(decodeBundleHeader(Buffer.from(text)), undefined);
  });
});
