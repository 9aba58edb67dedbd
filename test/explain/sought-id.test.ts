import assert from 'node:assert/strict';
import { test } from 'node:test';
import { looks, SoughtId, type Look } from '../../src/explain/sought-id.ts';
import { codecId } from '../../src/kafka/protocol/compressor.ts';
import { FetchedRecords } from '../../src/kafka/protocol/fetched-records.ts';
import { makeBatch } from '../kafka/protocol/make-batch.ts';

function found(id: string, values: readonly string[], look: Look, codec = 0): number {
  const bytes = makeBatch({ codec, records: values.map((value) => ({ value })) });
  const records = new FetchedRecords(bytes, 0, [], new SoughtId(id, look));
  let count = 0;
  while (records.next()) count += 1;
  return count;
}

test('an id is found however a producer writes it', () => {
  const id = 'order/äpfel "2" 4f1a-99';
  const spellings = [JSON.stringify(id), JSON.stringify(id).replace('/', String.raw`\/`), id];
  for (const text of spellings) assert.equal(found(id, [text], 'end'), 1, text);
  assert.equal(found(id, ['order/4f1a-98'], 'end'), 0);
});

test('an id without a part that tells it from others has every batch read', () => {
  for (const id of ['äöü', 'a', '"7"']) assert.equal(found(id, ['whatever'], 'end'), 1, id);
});

test('what LZ4 has cut to pieces is found by whoever is thorough', () => {
  const values = Array.from(
    { length: 50 },
    (_, i) => `{"messageId":"call-2026-11-24-${1_000 + i}"}`,
  );
  const id = 'call-2026-11-24-1049';
  const counts = (codec: number): number[] => looks.map((look) => found(id, values, look, codec));
  assert.deepEqual(counts(codecId.lz4), [0, 50, 50]);
  assert.deepEqual(counts(codecId.zstd), [50, 50, 50]);
});
