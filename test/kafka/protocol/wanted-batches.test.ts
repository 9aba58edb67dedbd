import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codecId } from '../../../src/kafka/protocol/compressor.ts';
import { FetchedRecords, type Wanted } from '../../../src/kafka/protocol/fetched-records.ts';
import { makeBatch, makeMarker, transactional } from './make-batch.ts';

const sought = Buffer.from('b1946ac92492');

const wanted: Wanted = {
  placesIn: (stored) => {
    const at = stored.indexOf(sought);
    return at < 0 ? [] : [at];
  },
  mayBeIn: (unpacked) => unpacked.includes(sought),
};

function read(bytes: Buffer, how: Wanted = wanted): [string[], FetchedRecords] {
  const records = new FetchedRecords(bytes, 0, [], how);
  const values: string[] = [];
  while (records.next()) values.push(String(records.value));
  assert.equal(records.problem, undefined);
  return [values, records];
}

for (const [name, codec] of Object.entries(codecId)) {
  test(`of batches with codec ${name}, those in which it may be are read`, () => {
    const texts = [['a', 'c'], ['before', String(sought)], ['d']];
    const batches = texts.map((values, i) =>
      makeBatch({
        firstOffset: i * 10,
        epoch: i,
        codec,
        records: values.map((value) => ({ value })),
      }),
    );
    const [values, { position, epoch }] = read(Buffer.concat(batches));
    assert.deepEqual([values, position, epoch], [['before', String(sought)], 21, 2]);
    const [all] = read(Buffer.concat(batches), { ...wanted, placesIn: () => undefined });
    assert.deepEqual(all, values, 'where stored bytes tell nothing');
  });
}

test('a batch that cannot hold it is not even checked', () => {
  const broken = makeBatch({ records: [{ value: 'a' }] });
  broken.writeUInt32BE(1, 17);
  const whole = makeBatch({ firstOffset: 1, records: [{ value: sought }] });
  assert.deepEqual(read(Buffer.concat([broken, whole]))[0], [String(sought)]);
});

test('where a transaction was aborted ends what is hidden, also among batches without it', () => {
  const attributes = transactional;
  const inTransaction = { producerId: 7, attributes };
  const bytes = Buffer.concat([
    makeBatch({ ...inTransaction, records: [{ value: sought }] }),
    makeMarker(1, 7, 'abort'),
    makeBatch({ ...inTransaction, firstOffset: 2, records: [{ value: `${String(sought)}!` }] }),
    makeMarker(3, 7, 'commit'),
  ]);
  const records = new FetchedRecords(bytes, 0, [{ producerId: 7, firstOffset: 0 }], wanted);
  assert.ok(records.next());
  assert.equal(String(records.value), `${String(sought)}!`);
  assert.ok(!records.next());
});
