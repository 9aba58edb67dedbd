import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  contradictionIn,
  judgePart,
  settlePosition,
  type KnownLog,
  type LogRange,
} from '../../../src/kafka/fetch/judge-part.ts';
import type { KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import type { FetchedPartition } from '../../../src/kafka/protocol/fetch.ts';
import fc from '../../harness/fast-check.ts';
import { FakeLog } from '../fake-log.ts';
import { reading, until, type FetchScene } from './fetch-scene.ts';

/** Of a log that ends at 10. */
function part(changes: Partial<FetchedPartition> = {}): FetchedPartition {
  return {
    topicId: 'id',
    partition: 0,
    error: 'NONE',
    highWatermark: 10,
    lastStableOffset: 10,
    aborted: [],
    preferredReplica: -1,
    diverging: undefined,
    records: Buffer.alloc(0),
    ...changes,
  };
}

test('nothing behind the position is the end, and nothing before the end says nothing', () => {
  assert.deepEqual(judgePart(part(), 10), { kind: 'end' });
  assert.deepEqual(judgePart(part(), 9), { kind: 'nothing' });
});

test('an open transaction is the end for who reads what is committed', () => {
  assert.deepEqual(judgePart(part({ lastStableOffset: 7 }), 7), { kind: 'end' });
});

test('records are records, also at the end of the log', () => {
  assert.deepEqual(judgePart(part({ records: Buffer.alloc(1) }), 10), { kind: 'records' });
});

test('who is sent to a replica is not at the end', () => {
  const sent = part({ preferredReplica: 2 });
  assert.deepEqual(judgePart(sent, 10), { kind: 'replica', nodeId: 2 });
});

test('a log that went another way is told before anything that it brings', () => {
  const at = { epoch: 3, endOffset: 8 };
  const other = part({ diverging: at, records: Buffer.alloc(1) });
  assert.deepEqual(judgePart(other, 10), { kind: 'diverged', at });
});

test('a leader that is not there, or not known, is looked for', () => {
  const errors: KafkaErrorName[] = [
    'NOT_LEADER_FOR_PARTITION',
    'LEADER_NOT_AVAILABLE',
    'REPLICA_NOT_AVAILABLE',
    'UNKNOWN_TOPIC_OR_PARTITION',
    'UNKNOWN_TOPIC_ID',
    'INCONSISTENT_TOPIC_ID',
    'FENCED_LEADER_EPOCH',
    'UNKNOWN_LEADER_EPOCH',
    'OFFSET_NOT_AVAILABLE',
    'KAFKA_STORAGE_ERROR',
  ];
  for (const error of errors)
    assert.deepEqual(judgePart(part({ error }), 10), { kind: 'elsewhere', error });
});

test('an error is never taken for an end, whatever it is', () => {
  const verdicts = (['UNKNOWN_SERVER_ERROR', 'CORRUPT_MESSAGE', 'ERROR_99'] as const).map((error) =>
    judgePart(part({ error, highWatermark: -1, lastStableOffset: -1 }), 10),
  );
  assert.deepEqual(
    verdicts.map(({ kind }) => kind),
    ['failed', 'failed', 'failed'],
  );
});

test('what waiting does not mend, and what has to be settled, are told apart', () => {
  const [refused, outOfRange] = (
    ['TOPIC_AUTHORIZATION_FAILED', 'OFFSET_OUT_OF_RANGE'] as const
  ).map((error) => judgePart(part({ error }), 10).kind);
  assert.deepEqual([refused, outOfRange], ['refused', 'out-of-range']);
});

const epochEnd = undefined;

test('what was removed before it was read is left out', () => {
  const move = settlePosition(3, { start: 10, end: 20, epochEnd });
  assert.deepEqual(move, { kind: 'removed', from: 3, to: 10 });
});

test('beyond the end it goes on at the end where nothing else is known', () => {
  const move = settlePosition(30, { start: 10, end: 20, epochEnd });
  assert.deepEqual(move, { kind: 'cut-off', from: 30, to: 20 });
});

test('where the log went another way it goes on from there', () => {
  const diverged = { epoch: 2, endOffset: 15 };
  const move = settlePosition(18, { start: 10, end: 20, epochEnd: diverged });
  assert.deepEqual(move, { kind: 'cut-off', from: 18, to: 15 });
});

test('what was read and removed since is not read again, wherever the log went', () => {
  const diverged = { epoch: 2, endOffset: 5 };
  const move = settlePosition(18, { start: 10, end: 20, epochEnd: diverged });
  assert.deepEqual(move, { kind: 'cut-off', from: 18, to: 10 });
});

test('an epoch that the leader knows nothing of says nothing', () => {
  const unknown = { epoch: -1, endOffset: -1 };
  assert.equal(settlePosition(15, { start: 10, end: 20, epochEnd: unknown }), undefined);
  const move = settlePosition(30, { start: 10, end: 20, epochEnd: unknown });
  assert.deepEqual(move, { kind: 'cut-off', from: 30, to: 20 });
});

test('a position that the log has after all stays', () => {
  for (const offset of [10, 15, 20])
    assert.equal(settlePosition(offset, { start: 10, end: 20, epochEnd }), undefined);
});

const anyRange: fc.Arbitrary<LogRange> = fc
  .record({
    start: fc.nat(100),
    length: fc.nat(100),
    endOffset: fc.option(fc.integer({ min: -1, max: 250 }), { nil: undefined }),
  })
  .map(({ start, length, endOffset }) => ({
    start,
    end: start + length,
    epochEnd: endOffset === undefined ? undefined : { epoch: 1, endOffset },
  }));

test('wherever it goes on, the log has it; and no record that exists is passed over', () => {
  fc.assert(
    fc.property(fc.nat(300), anyRange, (offset, range) => {
      const move = settlePosition(offset, range);
      const to = move?.to ?? offset;
      assert.ok(range.start <= to && to <= range.end, `${to}`);
      // Forward only over what was removed.
      assert.ok(to <= Math.max(offset, range.start), `from ${offset} to ${to}`);
      if (move !== undefined) assert.equal(move.kind, offset < range.start ? 'removed' : 'cut-off');
    }),
  );
});

test('no more is read again than the log lost, and never all of it because of doubt', () => {
  fc.assert(
    fc.property(fc.nat(300), anyRange, (offset, range) => {
      const to = settlePosition(offset, range)?.to ?? offset;
      const { endOffset = -1 } = range.epochEnd ?? {};
      const wentAt = endOffset >= 0 ? Math.min(endOffset, range.end) : range.end;
      assert.ok(to >= Math.min(offset, Math.max(wentAt, range.start)), `from ${offset} to ${to}`);
    }),
  );
});

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

const known: KnownLog = { offset: 0, lastEpoch: -1, leaderEpoch: -1, highWatermark: 100 };

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
  const known: KnownLog = { offset: 0, lastEpoch: -1, leaderEpoch: -1, highWatermark: 1 };
  for (let end = 0; end < 61; end += 1) {
    const bytes = Buffer.from(whole.subarray(0, end));
    if (end >= 12) bytes.writeInt32BE(Math.max(1, end - 12), 8);
    assert.equal(contradictionIn(bytes, known), undefined, `${end} bytes`);
  }
});
