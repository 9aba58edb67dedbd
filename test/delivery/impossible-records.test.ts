import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compressEvents, encodeBundleHeader } from '../../src/delivery/bundle/format.ts';
import { EventPacker } from '../../src/delivery/packing.ts';
import { encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { answerOk, hangs, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

const retryTopic = 'retry.10s';
const nowMs = new SimulatedWorld().clock.now();
const body = Buffer.from('{"kept":true}');

/** Which dead letters a record in a retry topic becomes, and which events are delivered. */
async function whatBecomesOf(
  header: string,
  value: Buffer,
): Promise<{ readonly letters: readonly OutgoingRecord[]; readonly delivered: readonly string[] }> {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  const letters: OutgoingRecord[] = [];
  world.refuses = (topic, letter) => {
    if (topic === world.topology.topics.deadLetter) letters.push(letter);
    return undefined;
  };
  world.take({ topic: retryTopic, key: 'crm:odd', value, headers: { [envelopeHeader]: header } });
  const behind = world.publish('crm', 'behind', {}, retryTopic);
  await world.clock.pass(minuteMs);
  assert.ok(world.delivered.includes(behind));
  assert.equal(world.inWork(retryTopic), 0, 'unfinished');
  return { letters, delivered: world.delivered.filter((id) => id !== behind) };
}

/** It is one dead letter, with all that the record had. */
async function assertMalformed(header: string, value: Buffer): Promise<void> {
  const { letters, delivered } = await whatBecomesOf(header, value);
  const kept = letters.map((letter) => [
    String(letter.key),
    letter.value,
    String(letter.headers?.[envelopeHeader]),
    letter.headers?.['reason'],
  ]);
  assert.deepEqual(kept, [['crm:odd', value, header, 'malformed']]);
  assert.deepEqual(delivered, []);
}

function changed(header: string, key: string, value: number): string {
  return JSON.stringify({ ...(JSON.parse(header) as object), [key]: value });
}

const noTimes = [8.64e15 + 1, 2 ** 53 - 1, 2 ** 53, -1, -8.64e15 - 1];

function envelopeOf(messageId: string): string {
  return encodeEnvelope({
    destinationId: 'crm',
    sourceId: 'shop',
    messageId,
    type: 'track',
    attempts: 0,
    configOffset: 1,
    appendTimeMs: nowMs,
  });
}

describe('an envelope is malformed', () => {
  test('with a time that no date can have, or from before 1970', async () => {
    for (const key of ['a', 'r', 'x', 'u'])
      for (const timeMs of noTimes)
        await assertMalformed(changed(envelopeOf('odd'), key, timeMs), body);
  });

  test('with more attempts than can have been made', async () => {
    for (const attempts of [14_400_001, 2 ** 53 - 1, -1])
      await assertMalformed(changed(envelopeOf('odd'), 'n', attempts), body);
  });

  test('but not at the limit of what can be', async () => {
    for (const [key, value] of [
      ['a', 0],
      ['r', 8.64e15],
      ['x', 8.64e15],
      ['u', 8.64e15],
      ['n', 14_400_000],
    ] as const) {
      const { delivered } = await whatBecomesOf(changed(envelopeOf('odd'), key, value), body);
      assert.deepEqual(delivered, ['odd'], key);
    }
  });
});

function bundleHeader(events: number): string {
  const deadlines = { deadlineMs: nowMs + hourMs, impliedDeadlineMs: nowMs + hourMs };
  const times = { dueMs: nowMs, oldestMs: nowMs, ...deadlines };
  return encodeBundleHeader({ destinationId: 'crm', events, ...times });
}

function packed(events: number, bodyBytes = 10): Buffer {
  const packer = new EventPacker();
  const filled = Buffer.alloc(bodyBytes, ' ');
  for (let n = 0; n < events; n++) packer.add(Buffer.from(`crm:${n}`), envelopeOf(`${n}`), filled);
  return packer.packed;
}

/** Events without a key, an envelope and a body. */
function packedEmpty(events: number): Buffer {
  const bytes = Buffer.alloc(12 * events);
  for (let n = 0; n < events; n++) bytes.writeInt32BE(-1, 12 * n);
  return bytes;
}

describe('a record with several events is malformed', () => {
  test('with a time that no date can have, or from before 1970', async () => {
    for (const key of ['u', 'x', 'i', 'o'])
      for (const timeMs of noTimes)
        await assertMalformed(changed(bundleHeader(2), key, timeMs), compressEvents(packed(2)));
  });

  test('with more events than are put together, or none', async () => {
    for (const events of [257, 349_000, 2 ** 53 - 1, 0, -1])
      await assertMalformed(changed(bundleHeader(2), 'e', events), compressEvents(packed(257)));
    const many = compressEvents(packedEmpty(349_000));
    assert.ok(many.length < 20_000);
    await assertMalformed(changed(bundleHeader(2), 'e', 349_000), many);
  });

  test('with more or fewer events in it than it says', async () => {
    for (const events of [1, 3, 256])
      await assertMalformed(bundleHeader(events), compressEvents(packed(2)));
    for (const [said, there] of [
      [256, 257],
      [256, 80_000],
      [256, 349_000],
      [1, 256],
    ] as const)
      await assertMalformed(bundleHeader(said), compressEvents(packedEmpty(there)));
  });

  test('with an event that is cut off', async () => {
    const whole = packed(2);
    for (const bytes of [1, 11, whole.length / 2 - 1, whole.length - 1])
      await assertMalformed(bundleHeader(2), compressEvents(whole.subarray(0, bytes)));
  });

  test('with more bytes in it than are put together', async () => {
    await assertMalformed(bundleHeader(2), compressEvents(packed(2, 600_000)));
    const lie = compressEvents(packed(2));
    lie.writeUInt32LE(0xffff_ffff);
    await assertMalformed(bundleHeader(2), lie);
  });

  test('but not at the limit of what can be', async () => {
    const one = await whatBecomesOf(bundleHeader(1), compressEvents(packed(1)));
    assert.deepEqual(one.delivered, ['0']);
    const most = await whatBecomesOf(bundleHeader(256), compressEvents(packed(256, 1_000)));
    assert.equal(most.delivered.length, 256);
    const oldest = changed(bundleHeader(2), 'o', 0);
    assert.equal((await whatBecomesOf(oldest, compressEvents(packed(2)))).delivered.length, 2);
  });
});

test('what a worker puts together at its largest is read again', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 5 });
  world.answer = () => hangs;
  for (let n = 0; n < 5; n++) world.publish('crm', `first${n}`);
  await world.clock.pass(5_100);
  const putOff = (messageId: string, bodyBytes: number, keyBytes: number): void => {
    const key = `crm:${'k'.repeat(keyBytes)}`;
    const headers = { [envelopeHeader]: envelopeOf(messageId) };
    world.take({ topic: 'delivery', key, value: Buffer.alloc(bodyBytes, ' '), headers });
  };
  putOff('almost full', 63 * 1024, 0);
  putOff('last', 30 * 1024, 33 * 1024);
  await world.clock.pass(minuteMs);
  assert.ok(world.retryRecords < world.retries.length, 'put off together');
  world.answer = () => answerOk;
  await world.clock.pass(hourMs);
  assert.deepEqual([world.delivered.length, world.deadLetters.length], [7, 0]);
});
