import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codecId } from '../../../src/kafka/protocol/compressor.ts';
import { FetchedRecords } from '../../../src/kafka/protocol/fetched-records.ts';
import {
  logAppendTime,
  makeBatch,
  makeMarker,
  makeRecord,
  offsetsOf,
  readAll,
  sealed,
  varint,
} from './make-batch.ts';

const three = [{ value: 'a' }, { value: 'b' }, { value: 'c' }];

test('a record has the fields that were written', () => {
  const headers = [
    ['trace', 'x'],
    ['none', null],
  ] as const;
  const records = [
    { key: 'k', value: 'v', timestampDelta: 5, headers },
    { offsetDelta: 4, timestampDelta: -3 },
  ];
  const bytes = makeBatch({ firstOffset: 2 ** 40, firstTimestampMs: 2 ** 41, records });
  const common = { flaw: undefined };
  assert.deepEqual(readAll(bytes).shown, [
    {
      offset: 2 ** 40,
      timestampMs: 2 ** 41 + 5,
      key: 'k',
      value: 'v',
      headers: { trace: 'x', none: undefined },
      position: 2 ** 40 + 1,
      ...common,
    },
    {
      offset: 2 ** 40 + 4,
      timestampMs: 2 ** 41 - 3,
      key: null,
      value: null,
      headers: {},
      position: 2 ** 40 + 5,
      ...common,
    },
  ]);
});

for (const [name, codec] of Object.entries(codecId)) {
  test(`records are read from a batch with codec ${name}`, () => {
    const { shown, problem } = readAll(makeBatch({ codec, records: three }));
    assert.deepEqual([shown.map(({ value }) => value), problem], [['a', 'b', 'c'], undefined]);
  });
}

test('of a batch that begins before the offset that was asked for, what lies before it is not shown', () => {
  const bytes = makeBatch({ firstOffset: 10, records: three });
  assert.deepEqual(offsetsOf(readAll(bytes, 11)), [11, 12]);
});

test('a batch that lies wholly before the offset leaves the position where it is', () => {
  const reading = readAll(makeBatch({ firstOffset: 10, records: three }), 20);
  assert.deepEqual([offsetsOf(reading), reading.position], [[], 20]);
});

test('the position is behind each record, and behind the batch with its last one', () => {
  const records = [{ offsetDelta: 1 }, { offsetDelta: 4 }];
  const bytes = makeBatch({ firstOffset: 10, lastOffsetDelta: 9, records });
  const { shown } = readAll(bytes);
  assert.deepEqual(
    shown.map(({ position }) => position),
    [12, 20],
  );
});

test('the position moves past a batch of which compaction has left nothing, and past markers', () => {
  const empty = makeBatch({ firstOffset: 5, lastOffsetDelta: 4 });
  const { shown, position, problem } = readAll(Buffer.concat([empty, makeMarker(10, 7, 'commit')]));
  assert.deepEqual([shown, position, problem], [[], 11, undefined]);
});

test('what holds nothing to show is passed without being decompressed', () => {
  for (const [records, position] of [
    [[], 5],
    [three, 7],
  ] as const) {
    const batch = makeBatch({ lastOffsetDelta: 4, records });
    batch.writeInt16BE(codecId.gzip, 21);
    const fromOffset = records.length === 0 ? 0 : 7;
    const reading = readAll(sealed(batch), fromOffset);
    assert.deepEqual([reading.shown, reading.position, reading.problem], [[], position, undefined]);
  }
});

test('the epoch is that of the last batch that was entered or passed', () => {
  const first = makeBatch({ firstOffset: 1, epoch: 3, records: three });
  const empty = makeBatch({ firstOffset: 10, epoch: 4 });
  const records = new FetchedRecords(Buffer.concat([first, empty]), 0, []);
  const epochs = [records.epoch];
  while (records.next()) epochs.push(records.epoch);
  assert.deepEqual([...epochs, records.epoch], [-1, 3, 3, 3, 4]);
});

test('a batch that is cut off is left out without a problem', () => {
  const whole = makeBatch({ records: three });
  const next = makeBatch({ firstOffset: 3, records: three });
  for (let bytes = 0; bytes < next.length; bytes += 1) {
    const reading = readAll(Buffer.concat([whole, next.subarray(0, bytes)]));
    assert.deepEqual(
      [offsetsOf(reading), reading.position, reading.problem],
      [[0, 1, 2], 3, undefined],
    );
    const alone = readAll(next.subarray(0, bytes), 3);
    assert.deepEqual([alone.shown, alone.position, alone.problem], [[], 3, undefined]);
  }
});

test('a record is read on behind its own length, whatever comes behind its headers', () => {
  const body = Buffer.concat([makeRecord({ value: 'a' }, 0).subarray(1), Buffer.from('more')]);
  const unpacked = Buffer.concat([varint(body.length), body, makeRecord({ value: 'b' }, 1)]);
  const { shown } = readAll(makeBatch({ count: 2, lastOffsetDelta: 1, unpacked }));
  assert.deepEqual(
    shown.map(({ value }) => value),
    ['a', 'b'],
  );
});

test('a time is the producer’s, or the broker’s where the batch says so', () => {
  const records = [
    { timestampDelta: 1 },
    { timestampDelta: 2 ** 45 },
    { timestampDelta: -(2 ** 45) },
  ];
  const batch = { firstTimestampMs: 2 ** 46, maxTimestampMs: 99, records };
  const times = (attributes: number): number[] =>
    readAll(makeBatch({ ...batch, attributes })).shown.map(({ timestampMs }) => timestampMs);
  assert.deepEqual(times(0), [2 ** 46 + 1, 2 ** 46 + 2 ** 45, 2 ** 46 - 2 ** 45]);
  assert.deepEqual(times(logAppendTime), [99, 99, 99]);
});

test('an offset that a number cannot hold exactly is a problem, not a record to read again and again', () => {
  const batch = makeBatch({ firstOffset: 2 ** 60, records: [{ value: 'v' }] });
  const fetched = new FetchedRecords(batch, 0, []);
  assert.equal(fetched.next(), false);
  assert.match(fetched.problem?.message ?? '', /its last offset is beyond what can be read/);
});
