import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contradictionIn, type Known } from '../../../src/kafka/fetch/contradiction.ts';
import { FakeLog } from '../fake-log.ts';
import { reading, until, type FetchScene } from './fetch-scene.ts';

const epochAt = 12;
/** Of where a batch lies, and of which leader wrote it: no checksum is made of them. */
const uncheckedBits = [
  ...Array.from({ length: 64 }, (_, bit) => bit),
  ...Array.from({ length: 32 }, (_, bit) => 8 * epochAt + bit),
];

function bytesOf({ batches }: FakeLog): Buffer {
  return Buffer.concat(batches.map(({ bytes }) => bytes));
}

function flipped(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

/** Of each partition, the first answer that has this batch has another bit of it changed. */
function damage({ logs }: FetchScene, batch: number, times: number): void {
  for (const [partition, log] of logs.entries()) {
    const fetch = log.fetch.bind(log);
    let left = times;
    log.fetch = (...asked) => {
      const answer = fetch(...asked);
      const before = log.batches.slice(0, batch).reduce((sum, { bytes }) => sum + bytes.length, 0);
      if (answer.records.length <= before || left === 0) return answer;
      left -= 1;
      const bit = 8 * before + (uncheckedBits[partition] ?? 0);
      return { ...answer, records: flipped(answer.records, bit) };
    };
  }
}

describe('an answer that was changed on the way, where no checksum shows it', () => {
  for (const batch of [0, 1, 2])
    test(`is asked for again: batch ${batch} of three, each bit of its offset and epoch`, async (t) => {
      const scene = reading(t, uncheckedBits.length, {
        write: (brokers) => {
          for (const log of brokers.topics.get('topic')?.partitions ?? [])
            for (const value of ['a', 'b', 'c']) log.append(value, value);
        },
      });
      damage(scene, batch, 1);
      const all = Object.fromEntries(uncheckedBits.map((_, each) => [each, 'a a b b c c']));
      await until(scene.owner, all);
      assert.deepEqual(scene.owner.told, []);
      for (const { offset, lastEpoch } of scene.cursors)
        assert.deepEqual([offset, lastEpoch], [6, 0]);
    });
});

test('what comes twice in the same way is stored so, and read as it is', async (t) => {
  const { logs, owner } = reading(t, 1);
  const [log] = logs;
  const fetch = log?.fetch.bind(log) ?? assert.fail();
  if (log !== undefined) log.fetch = (...asked) => ({ ...fetch(...asked), highWatermark: 1 });
  log?.append('a', 'b');
  log?.append('c');
  await until(owner, { 0: 'a b c' });
});

test('what is stored so is read as it is where the log grows with every question, too', async (t) => {
  const { logs, owner, brokers } = reading(t, 1, {
    write: (fake) => {
      fake.log('topic', 0).append('a');
      const withinOffset = 5;
      fake.log('topic', 0).damage(0, withinOffset);
    },
  });
  const [log] = logs;
  const fetch = log?.fetch.bind(log) ?? assert.fail();
  if (log !== undefined)
    log.fetch = (...asked) => {
      if (owner.of(0) !== '') return fetch(...asked);
      log.append('b');
      assert.ok(brokers.count('Fetch') < 10, 'it is asked for again and again');
      return { ...fetch(...asked), records: log.batchOf(0).bytes };
    };
  await until(owner, { 0: 'a' });
});

const known: Known = { offset: 0, lastEpoch: -1, leaderEpoch: -1, highWatermark: 100 };

test('batches in order contradict nothing, with holes between them, and with a first one that began earlier', () => {
  const log = new FakeLog(1);
  log.append('a', 'b', 'c');
  log.skip(5);
  log.append('d');
  const records = bytesOf(log);
  assert.equal(contradictionIn(records, known), undefined);
  assert.equal(contradictionIn(records, { ...known, offset: 2 }), undefined);
});

test('what is cut off, old or nothing is not judged', () => {
  const log = new FakeLog(1);
  log.append('a');
  const records = bytesOf(log);
  const behind = { ...known, offset: 50 };
  assert.match(contradictionIn(records, behind) ?? '', /comes after 49/);
  for (let length = 0; length < records.length; length += 1)
    assert.equal(contradictionIn(records.subarray(0, length), behind), undefined);
  const magicBit = 8 * 16;
  assert.equal(contradictionIn(flipped(records, magicBit), behind), undefined);
});

test('a batch whose head is cut off at any byte, with a length that hides it, is not judged', () => {
  const log = new FakeLog(1);
  log.append('a');
  const whole = bytesOf(log);
  const known: Known = { offset: 0, lastEpoch: -1, leaderEpoch: -1, highWatermark: 1 };
  for (let end = 0; end < 61; end += 1) {
    const bytes = Buffer.from(whole.subarray(0, end));
    if (end >= 12) bytes.writeInt32BE(Math.max(1, end - 12), 8);
    assert.equal(contradictionIn(bytes, known), undefined, `${end} bytes`);
  }
});
