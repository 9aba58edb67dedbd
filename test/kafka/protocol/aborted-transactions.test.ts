import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codecId } from '../../../src/kafka/protocol/compressor.ts';
import { control, makeBatch, makeMarker, readAll, sealed, transactional } from './make-batch.ts';

const [a, b, c] = [1, 2, 3];

/** A batch of one record of a transaction. */
function written(firstOffset: number, producerId: number): Buffer {
  return makeBatch({ firstOffset, producerId, attributes: transactional, records: [{}] });
}

function shownOf(
  batches: readonly Buffer[],
  fromOffset: number,
  ...aborted: readonly (readonly [producerId: number, firstOffset: number])[]
): number[] {
  const reading = readAll(
    Buffer.concat(batches),
    fromOffset,
    aborted.map(([producerId, firstOffset]) => ({ producerId, firstOffset })),
  );
  assert.equal(reading.problem, undefined);
  return reading.shown.map(({ offset }) => offset);
}

test('where a fetch begins inside two aborted transactions, nothing of either is shown', () => {
  const batches = [
    written(15, b),
    written(16, a),
    written(17, c),
    makeMarker(18, a, 'abort'),
    makeMarker(19, b, 'abort'),
    makeMarker(20, c, 'commit'),
  ];
  assert.deepEqual(shownOf(batches, 15, [a, 10], [b, 12]), [17]);
});

test('one that began first and ended last is hidden from its first record on', () => {
  const batches = [
    written(1, a),
    written(2, b),
    written(3, a),
    makeMarker(4, b, 'abort'),
    written(5, a),
    makeMarker(6, a, 'abort'),
    written(7, b),
  ];
  assert.deepEqual(shownOf(batches, 0, [b, 2], [a, 1]), [7]);
});

test('what a producer writes after its abort is shown, and what it committed before', () => {
  const batches = [
    written(1, a),
    makeMarker(2, a, 'commit'),
    written(3, a),
    makeMarker(4, a, 'abort'),
    written(5, a),
    makeMarker(6, a, 'commit'),
    written(7, a),
  ];
  assert.deepEqual(shownOf(batches, 0, [a, 3]), [1, 5, 7]);
});

test('a second abort of the same producer is one of its own', () => {
  const batches = [
    written(1, a),
    makeMarker(2, a, 'abort'),
    written(3, a),
    makeMarker(4, a, 'commit'),
    written(5, a),
    makeMarker(6, a, 'abort'),
  ];
  assert.deepEqual(shownOf(batches, 0, [a, 1], [a, 5]), [3]);
});

test('records outside of transactions are shown whatever their neighbours came to', () => {
  const plain = makeBatch({ firstOffset: 2, producerId: a, records: [{}] });
  assert.deepEqual(shownOf([written(1, a), plain, makeMarker(3, a, 'abort')], 0, [a, 1]), [2]);
});

test('a transaction begins within a batch whose first records compaction has removed', () => {
  const attributes = transactional;
  const records = [{ offsetDelta: 5 }];
  const batch = makeBatch({ firstOffset: 10, producerId: a, attributes, records });
  assert.deepEqual(shownOf([batch], 0, [a, 12]), []);
});

test('an aborted batch is passed without being decompressed, after its checksum was compared', () => {
  const batch = makeBatch({
    producerId: a,
    codec: codecId.zstd,
    attributes: transactional,
    lastOffsetDelta: 4,
    records: [{}],
  });
  batch.fill(0xff, 61);
  const aborted = [{ producerId: a, firstOffset: 0 }];
  assert.match(readAll(batch, 0, aborted).problem ?? '', /checksum/);
  const reading = readAll(sealed(batch), 0, aborted);
  assert.deepEqual([reading.shown, reading.position, reading.problem], [[], 5, undefined]);
  assert.match(readAll(batch).problem ?? '', /decompressed/);
});

test('markers of other kinds end nothing, and one that compaction has emptied neither', () => {
  const attributes = control;
  const key = Buffer.from([0, 0, 0, 2]);
  const elected = makeBatch({ firstOffset: 2, producerId: a, attributes, records: [{ key }] });
  const emptied = makeBatch({ firstOffset: 3, producerId: a, attributes });
  const batches = [written(1, a), elected, emptied, written(4, a)];
  assert.deepEqual(shownOf(batches, 0, [a, 1]), []);
});

test('a marker that cannot be read is a problem where it may end an aborted transaction', () => {
  const records = [{ key: 'abc' }];
  const attributes = control | transactional;
  const marker = makeBatch({ firstOffset: 1, producerId: a, attributes, records });
  const bytes = Buffer.concat([written(0, a), marker]);
  assert.equal(readAll(bytes).problem, undefined);
  const { problem, position } = readAll(bytes, 0, [{ producerId: a, firstOffset: 0 }]);
  assert.match(problem ?? '', /^the batch at offset 1 cannot be read/);
  assert.equal(position, 1);
});
