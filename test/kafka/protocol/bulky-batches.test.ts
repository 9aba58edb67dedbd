import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { codecId } from '../../../src/kafka/protocol/compressor.ts';
import { FetchedRecords } from '../../../src/kafka/protocol/fetched-records.ts';
import { current, makeBatch } from './make-batch.ts';

const megabyte = 1024 * 1024;

test('what is shown of a batch of more than 8 MB holds nothing of the batch', () => {
  const small = { key: 'key', value: 'value', headers: [['name', 'header']] } as const;
  for (const [value, isCopied] of [
    [Buffer.alloc(7 * megabyte), false],
    [Buffer.alloc(9 * megabyte), true],
  ] as const) {
    const bytes = makeBatch({ codec: codecId.zstd, records: [{ value }, small] });
    const records = new FetchedRecords(bytes, 1, []);
    assert.equal(records.next(), true);
    assert.equal(records.value?.toString(), 'value');
    for (const each of [records.key, records.value, records.headers['name']])
      assert.equal((each?.buffer.byteLength ?? 0) < megabyte, isCopied);
  }
});

test('who pauses in a bulky batch goes on with the next record, and keeps the one it is at', () => {
  const value = Buffer.alloc(9 * megabyte, 'x');
  const records = [{ value: 'a' }, { value }, { value: 'b' }, { value: 'c' }];
  const batch = makeBatch({ codec: codecId.zstd, firstOffset: 10, records });
  const next = makeBatch({ firstOffset: 20, records: [{ value: 'd' }] });
  const fetched = new FetchedRecords(Buffer.concat([batch, next]), 11, []);
  const shown = [];
  fetched.pause();
  while (fetched.next()) {
    fetched.pause();
    fetched.pause();
    const { offset, value: held, position } = current(fetched);
    shown.push([offset, held?.slice(0, 1), position]);
  }
  fetched.pause();
  assert.equal(fetched.next(), false);
  assert.deepEqual(shown, [
    [11, 'x', 12],
    [12, 'b', 13],
    [13, 'c', 14],
    [20, 'd', 21],
  ]);
  assert.equal(fetched.problem, undefined);
});

test('a pause lets go of what was unpacked', { timeout: 60_000 }, async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const value = Buffer.alloc(40 * megabyte);
  const bytes = makeBatch({ codec: codecId.zstd, records: [{ value: 'a' }, { value }] });
  const fetched = new FetchedRecords(bytes, 0, []);
  assert.equal(fetched.next(), true);
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  fetched.pause();
  // What was held is given back a moment after the collection.
  while (process.memoryUsage().arrayBuffers > before - 30 * megabyte) {
    collectGarbage();
    await nextTurn();
  }
  assert.equal(fetched.next(), true);
  assert.equal(fetched.value?.length, value.length);
});
