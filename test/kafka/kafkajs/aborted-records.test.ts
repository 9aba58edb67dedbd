import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hideAborted } from '../../../src/kafka/kafkajs/aborted-records.ts';
import { FetchedRecord } from '../../../src/kafka/kafkajs/fetched-record.ts';

function record(offset: number, producerId: string, inTransaction = true): FetchedRecord {
  return new FetchedRecord(offset, 0, null, null, {}, { producerId, inTransaction }, false);
}

function marker(offset: number, producerId: string, type: 'abort' | 'commit'): FetchedRecord {
  const key = Buffer.from([0, 0, 0, type === 'abort' ? 0 : 1]);
  const context = { producerId, inTransaction: true };
  return new FetchedRecord(offset, 0, key, null, {}, context, true);
}

function shown(
  records: readonly FetchedRecord[],
  ...aborted: readonly (readonly [string, number])[]
): string[] {
  hideAborted(
    records,
    aborted.map(([producerId, first]) => ({ producerId, firstOffset: String(first) })),
  );
  return records
    .filter(({ isControlRecord }) => !isControlRecord)
    .map(({ offset, batchContext }) => `${batchContext.producerId}@${offset}`);
}

test('where a fetch begins inside two aborted transactions, nothing of either is shown', () => {
  const records = [
    ...[record(15, 'b'), record(16, 'a'), record(17, 'c')],
    ...[marker(18, 'a', 'abort'), marker(19, 'b', 'abort'), marker(20, 'c', 'commit')],
  ];
  assert.deepEqual(shown(records, ['a', 10], ['b', 12]), ['c@17']);
});

test('one that began first and ended last is hidden from its first record on', () => {
  const records = [
    ...[record(1, 'a'), record(2, 'b'), record(3, 'a')],
    ...[marker(4, 'b', 'abort'), record(5, 'a'), marker(6, 'a', 'abort'), record(7, 'b')],
  ];
  assert.deepEqual(shown(records, ['b', 2], ['a', 1]), ['b@7']);
});

test('what a producer writes after its abort is shown, and what it committed before', () => {
  const records = [
    ...[record(1, 'a'), marker(2, 'a', 'commit'), record(3, 'a'), marker(4, 'a', 'abort')],
    ...[record(5, 'a'), marker(6, 'a', 'commit'), record(7, 'a')],
  ];
  assert.deepEqual(shown(records, ['a', 3]), ['a@1', 'a@5', 'a@7']);
});

test('a second abort of the same producer is one of its own', () => {
  const records = [
    ...[record(1, 'a'), marker(2, 'a', 'abort'), record(3, 'a'), marker(4, 'a', 'commit')],
    ...[record(5, 'a'), marker(6, 'a', 'abort')],
  ];
  assert.deepEqual(shown(records, ['a', 1], ['a', 5]), ['a@3']);
});

test('records outside transactions are shown whatever their neighbours came to', () => {
  const records = [record(1, 'a'), record(2, '-1', false), marker(3, 'a', 'abort')];
  assert.deepEqual(shown(records, ['a', 1]), ['-1@2']);
});
