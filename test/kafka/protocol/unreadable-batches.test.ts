import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codecId } from '../../../src/kafka/protocol/compressor.ts';
import { FetchedRecords } from '../../../src/kafka/protocol/fetched-records.ts';
import { makeBatch, makeRecord, offsetsOf, readAll, sealed, varint } from './make-batch.ts';

const three = [{ value: 'a' }, { value: 'b' }, { value: 'c' }];

test('a batch whose bytes are not what was written is a problem, with offset and both checksums', () => {
  const good = makeBatch({ firstOffset: 4, epoch: 1, records: three });
  const bad = makeBatch({ firstOffset: 7, epoch: 2, records: [{ value: '39.95' }] });
  bad.writeUInt8('9'.charCodeAt(0), bad.indexOf('39.95'));
  bad.writeUInt32BE(0x0000_00ab, 17);
  const actual = sealed(Buffer.from(bad)).readUInt32BE(17).toString(16).padStart(8, '0');
  const reading = readAll(Buffer.concat([good, bad, good]));
  assert.deepEqual([offsetsOf(reading), reading.position, reading.epoch], [[4, 5, 6], 7, 1]);
  assert.equal(
    reading.problem,
    `the batch at offset 7 cannot be read: its checksum is 000000ab, but that of its bytes is ${actual}`,
  );
});

test('a problem stays', () => {
  const bad = makeBatch({ records: three });
  bad.writeUInt8(99, 60);
  const records = new FetchedRecords(bad, 0, []);
  assert.equal(records.next(), false);
  const { problem } = records;
  assert.equal(records.next(), false);
  assert.ok(problem instanceof Error);
  assert.equal(records.problem, problem);
});

const lengthAt = 8;
for (const length of [-(2 ** 31), -12, -1, 0, 4, 5, 14, 48]) {
  test(`a batch that states a length of ${length} bytes is a problem`, () => {
    const bytes = Buffer.concat([makeBatch({ records: three }), makeBatch({ records: three })]);
    bytes.writeInt32BE(length, lengthAt);
    const reading = readAll(bytes);
    assert.deepEqual([reading.shown, reading.position], [[], 0]);
    assert.match(reading.problem ?? '', /^the batch at offset 0 cannot be read: it /);
  });
}

for (const version of [3, 127, -1]) {
  test(`a batch of version ${version} is a problem`, () => {
    const bytes = makeBatch({ records: three });
    bytes.writeInt8(version, 16);
    assert.match(readAll(bytes).problem ?? '', new RegExp(`version ${version};`));
  });
}

test('a batch that states fewer than no records, or more than it has offsets, is a problem', () => {
  for (const count of [-1, -(2 ** 31), 4, 2 ** 31 - 1]) {
    const reading = readAll(makeBatch({ count, records: three }));
    assert.deepEqual([reading.shown, reading.position], [[], 0]);
    assert.match(reading.problem ?? '', new RegExp(`states ${count} records`));
  }
});

for (const [name, codec] of [
  ['uncompressed', codecId.none],
  ['compressed', codecId.zstd],
] as const) {
  test(`${name} records that are fewer than stated are a problem behind the last one`, () => {
    const reading = readAll(makeBatch({ codec, count: 5, lastOffsetDelta: 9, records: three }));
    assert.deepEqual([offsetsOf(reading), reading.position], [[0, 1, 2], 3]);
    assert.match(reading.problem ?? '', /number does not end/);
  });

  test(`${name} records that are more than stated are a problem, and the last is not shown`, () => {
    const reading = readAll(makeBatch({ codec, count: 2, lastOffsetDelta: 9, records: three }));
    assert.deepEqual([offsetsOf(reading), reading.position], [[0], 1]);
    assert.match(reading.problem ?? '', /bytes come behind its last record/);
  });
}

test('what comes before a record that is malformed stays shown', () => {
  const good = three.map(makeRecord);
  const attributes = Buffer.alloc(1);
  const zero = varint(0);
  const third = (...fields: Buffer[]): Buffer => {
    const body = Buffer.concat([attributes, zero, varint(2), ...fields]);
    return Buffer.concat([varint(body.length), body]);
  };
  const fields = makeRecord({ value: 'c' }, 2).subarray(1);
  const malformed: Record<string, readonly [Buffer, RegExp]> = {
    'a record that does not end within the batch': [
      Buffer.concat([varint(1_000), fields]),
      /a record of 1000 bytes does not end within it/,
    ],
    'a record of a negative length': [
      Buffer.concat([varint(-1), fields]),
      /a record of -1 bytes does not end within it/,
    ],
    'a record that ends before its first field': [
      Buffer.concat([varint(0), fields]),
      /does not end within its record|ends before its last field/,
    ],
    'a record that ends before its last field': [
      Buffer.concat([varint(3), attributes, zero, varint(2), varint(-1), varint(-1), zero]),
      /a record ends before its last field/,
    ],
    'a key that does not end within its record': [
      third(varint(50), zero, zero),
      /a field of 50 bytes does not end within its record/,
    ],
    'a key that leaves no room for a value': [
      third(varint(2), zero, zero),
      /a record ends before its last field|does not end within its record/,
    ],
    'a header without a name': [
      third(zero, zero, varint(1), varint(-1), zero),
      /a field of -1 bytes does not end within its record/,
    ],
    'a header that does not end within its record': [
      third(zero, zero, varint(1), varint(90)),
      /a field of 90 bytes does not end within its record/,
    ],
    'headers of a negative number': [third(zero, zero, varint(-1)), /a record has -1 headers/],
    'a number that has too many bytes': [
      Buffer.concat([Buffer.alloc(5, 0x80), fields]),
      /a variable-length number does not end/,
    ],
    'a long number that has too many bytes': [
      Buffer.concat([varint(30), attributes, Buffer.alloc(10, 0x80), fields]),
      /a variable-length number does not end/,
    ],
  };
  for (const [name, [bytes, why]] of Object.entries(malformed)) {
    const unpacked = Buffer.concat([...good.slice(0, 2), bytes, ...good, ...good]);
    const reading = readAll(makeBatch({ count: 9, lastOffsetDelta: 8, unpacked }));
    assert.deepEqual([offsetsOf(reading), reading.position], [[0, 1], 2], name);
    assert.match(reading.problem ?? '', /^the batch at offset 0 cannot be read: /, name);
    assert.match(reading.problem ?? '', why, name);
  }
});

test('records whose offsets do not increase, or lie behind the batch, are a problem', () => {
  for (const offsetDelta of [0, -1, 3, 1_000_000]) {
    const records = [{}, { offsetDelta }, { offsetDelta: 2 }];
    const reading = readAll(makeBatch({ firstOffset: 50, lastOffsetDelta: 2, records }));
    assert.deepEqual([offsetsOf(reading), reading.position], [[50], 51]);
    assert.match(reading.problem ?? '', new RegExp(`offset ${50 + offsetDelta} comes behind 50`));
  }
});

test('a batch that begins before the one in front of it ends is a problem', () => {
  const second = makeBatch({ firstOffset: 2, records: three });
  const reading = readAll(Buffer.concat([makeBatch({ records: three }), second]));
  assert.deepEqual([offsetsOf(reading), reading.position], [[0, 1, 2], 3]);
  assert.match(reading.problem ?? '', /the batch before it ends at offset 2/);
});

test('a batch that cannot be decompressed is a problem', () => {
  for (const codec of [codecId.gzip, codecId.snappy, codecId.lz4, codecId.zstd, 5, 6, 7]) {
    const batch = makeBatch({ epoch: 4, records: three });
    batch.writeInt16BE(codec, 21);
    const good = makeBatch({ epoch: 3, records: three });
    batch.writeBigInt64BE(3n, 0);
    const reading = readAll(Buffer.concat([good, sealed(batch)]));
    assert.deepEqual([offsetsOf(reading), reading.position], [[0, 1, 2], 3]);
    assert.equal(reading.epoch, 3);
    assert.match(reading.problem ?? '', /data cannot be decompressed|codec \d is not known/);
  }
});

test('a batch of a version that Kafka does not write any more, or not yet, is a problem', () => {
  for (const version of [0, 1, 3, -1]) {
    const batch = makeBatch({ records: three });
    batch.writeInt8(version, 16);
    assert.match(
      readAll(batch).problem ?? '',
      new RegExp(
        `offset 0 cannot be read: it is of version ${version}; only version 2 can be read`,
      ),
    );
  }
});
