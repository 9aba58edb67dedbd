import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { codecId } from '../../../src/kafka/protocol/compressor.ts';
import { FetchedRecords } from '../../../src/kafka/protocol/fetched-records.ts';
import {
  current,
  logAppendTime,
  makeBatch,
  makeMessage,
  makeWrapper,
  offsetsOf,
  readAll,
  sealedMessage,
} from './make-batch.ts';

const require = createRequire(import.meta.url);
const theirMessageSet = require('kafkajs/src/protocol/messageSet') as (options: object) => {
  readonly buffer: Buffer;
};

const codecs = [codecId.gzip, codecId.snappy, codecId.lz4];

test('messages of versions 0 and 1 are read, and record batches behind them', () => {
  const bytes = Buffer.concat([
    makeMessage({ offset: 3, magic: 0, key: 'k', value: 'v' }),
    makeMessage({ offset: 5, magic: 1, timestampMs: 2 ** 41 }),
    makeBatch({ firstOffset: 9, epoch: 4, records: [{ value: 'new' }] }),
  ]);
  const { shown, position, epoch, problem } = readAll(bytes);
  assert.deepEqual(
    shown.map((each) => [each.offset, each.timestampMs, each.key, each.value, each.position]),
    [
      [3, -1, 'k', 'v', 4],
      [5, 2 ** 41, null, null, 6],
      [9, 0, null, 'new', 10],
    ],
  );
  assert.deepEqual([position, epoch, problem], [10, 4, undefined]);
  assert.deepEqual([shown[0]?.headers, shown[0]?.flaw], [{}, undefined]);
});

test('a message behind a record batch has its own offset, and no epoch', () => {
  const batch = makeBatch({ firstOffset: 7, epoch: 4, records: [{ value: 'new' }] });
  const old = makeMessage({ offset: 8, value: 'old' });
  const reading = readAll(Buffer.concat([batch, old]));
  assert.deepEqual([offsetsOf(reading), reading.epoch, reading.position], [[7, 8], -1, 9]);
});

test('messages that kafkajs has written are read', () => {
  for (const messageVersion of [0, 1]) {
    const entries = [{ key: 'k', value: 'ü', timestamp: 5 }];
    const { buffer } = theirMessageSet({ messageVersion, compression: 0, entries });
    buffer.writeBigInt64BE(6n, 0);
    const timestampMs = messageVersion === 0 ? -1 : 5;
    assert.deepEqual(
      readAll(buffer).shown.map((each) => [each.offset, each.timestampMs, each.key, each.value]),
      [[6, timestampMs, 'k', 'ü']],
    );
  }
});

for (const codec of codecs) {
  test(`messages that are compressed as one, with codec ${codec}, are read one by one`, () => {
    const inner = (magic: 0 | 1, offset: number): Buffer =>
      makeMessage({ magic, offset, timestampMs: offset, value: `${magic}@${offset}` });
    const bytes = Buffer.concat([
      makeWrapper({ magic: 0, offset: 12, codec }, [inner(0, 10), inner(0, 12)]),
      makeWrapper({ magic: 1, offset: 24, codec }, [inner(1, 0), inner(1, 1), inner(1, 4)]),
    ]);
    const { shown, problem } = readAll(bytes);
    assert.deepEqual(
      shown.map((each) => [each.offset, each.timestampMs, each.value, each.position]),
      [
        [10, -1, '0@10', 11],
        [12, -1, '0@12', 13],
        [20, 0, '1@0', 21],
        [21, 1, '1@1', 22],
        [24, 4, '1@4', 25],
      ],
    );
    assert.equal(problem, undefined);
    assert.deepEqual(offsetsOf(readAll(bytes, 21)), [21, 24]);
  });
}

test('what a compressed message was appended at counts for all that is in it', () => {
  const inner = [0, 1].map((offset) => makeMessage({ offset, timestampMs: 5 }));
  const timesOf = (bytes: Buffer): number[] =>
    readAll(bytes).shown.map(({ timestampMs }) => timestampMs);
  const wrapper = { offset: 1, timestampMs: 77 };
  assert.deepEqual(timesOf(makeWrapper(wrapper, inner)), [5, 5]);
  assert.deepEqual(
    timesOf(makeWrapper({ ...wrapper, attributes: logAppendTime }, inner)),
    [77, 77],
  );
  assert.deepEqual(timesOf(makeMessage({ ...wrapper, attributes: logAppendTime })), [77]);
});

test('a message that is cut off is left out without a problem', () => {
  const whole = makeMessage({ offset: 1, value: 'whole' });
  const next = makeMessage({ offset: 2, value: 'next' });
  for (let bytes = 0; bytes < next.length; bytes += 1) {
    const reading = readAll(Buffer.concat([whole, next.subarray(0, bytes)]));
    assert.deepEqual([offsetsOf(reading), reading.position, reading.problem], [[1], 2, undefined]);
  }
});

test('a message whose bytes are not what was written is a problem, within a compressed one too', () => {
  const damaged = makeMessage({ offset: 1, value: '39.95' });
  damaged.writeUInt8('9'.charCodeAt(0), damaged.indexOf('39.95'));
  const good = makeMessage({ offset: 0, value: 'good' });
  for (const second of [damaged, makeWrapper({ offset: 2 }, [good, damaged])]) {
    const reading = readAll(Buffer.concat([good, second]));
    assert.match(reading.problem ?? '', /its checksum is [\da-f]{8}, but that of its bytes is/);
    assert.ok(reading.shown.every(({ value }) => value === 'good'));
    assert.equal(reading.position, reading.shown.length);
  }
});

test('a message whose fields do not end within it is a problem', () => {
  const keyLengthAt = 26;
  const first = makeMessage({ offset: 0 });
  const behind = makeMessage({ offset: 2 });
  for (const keyBytes of [3, 4, 50, 2 ** 31 - 1]) {
    const bad = makeMessage({ offset: 1, value: 'abc' });
    bad.writeInt32BE(keyBytes, keyLengthAt);
    const reading = readAll(Buffer.concat([first, sealedMessage(bad), behind]));
    assert.deepEqual([offsetsOf(reading), reading.position], [[0], 1]);
    assert.match(reading.problem ?? '', /offset 1 .* a field does not end within its message/);
  }
});

test('a compressed message that cannot be read is a problem, and what came before stays shown', () => {
  const good = makeMessage({ offset: 0 });
  const ofLength = (bytes: number): Buffer => {
    const message = makeMessage({ offset: 1 });
    message.writeInt32BE(bytes, 8);
    return message;
  };
  const around = (...messages: Buffer[]): Buffer => makeWrapper({ offset: 5 }, messages);
  const aroundOld = (...messages: Buffer[]): Buffer =>
    makeWrapper({ offset: 5, magic: 0 }, messages);
  const cut = makeMessage({ offset: 1 }).subarray(0, -1);
  const batch = makeBatch({ firstOffset: 1, records: [{}] });
  // How many are shown of those within: where offsets are relative, all lengths are looked at first.
  for (const [bad, shown, why] of [
    [makeMessage({ offset: 5, codec: 1, value: 'no gzip' }), 0, /gzip data cannot be/],
    [makeMessage({ offset: 5, codec: 1 }), 0, /a compressed message is empty/],
    [makeMessage({ offset: 5, codec: 6, value: 'unknown' }), 0, /codec 6 is not known/],
    [around(good, makeWrapper({ offset: 1 }, [good])), 1, /compressed once more/],
    [around(good, cut), 0, /does not end within it/],
    [aroundOld(makeMessage({ offset: 1 }), cut), 1, /does not end within it/],
    [around(good, ofLength(-12)), 0, /does not end within it/],
    [around(good, ofLength(-100)), 0, /does not end within it/],
    [aroundOld(ofLength(0)), 0, /does not end within it/],
    [around(good, ofLength(13)), 0, /does not end within it/],
    [around(good, good), 1, /offset 5 comes behind 5/],
    [aroundOld(makeMessage({ offset: 6 })), 0, /offset 6 comes behind -1, and 5 is its last/],
    [around(good, batch), 1, /a message of version 2/],
  ] as const) {
    const reading = readAll(Buffer.concat([good, bad]));
    assert.match(reading.problem ?? '', /^the batch at offset 5 cannot be read: /);
    assert.match(reading.problem ?? '', why);
    assert.equal(reading.shown.length, 1 + shown, reading.problem);
    assert.equal(reading.position, (reading.shown.at(-1)?.offset ?? NaN) + 1);
  }
});

test('who pauses among bulky old messages goes on with the next one', () => {
  const value = Buffer.alloc(9 * 1024 * 1024, 'x');
  const inner = [0, 1, 2].map((offset) =>
    makeMessage({ offset, value: offset === 1 ? value : 'y' }),
  );
  const fetched = new FetchedRecords(makeWrapper({ offset: 12 }, inner), 0, []);
  const shown = [];
  while (fetched.next()) {
    assert.notEqual(
      fetched.value?.buffer.byteLength,
      inner.reduce((sum, { length }) => sum + length, 0),
    );
    fetched.pause();
    const { offset, value: held, position } = current(fetched);
    shown.push([offset, held?.slice(0, 1), position]);
  }
  assert.deepEqual(shown, [
    [10, 'y', 11],
    [11, 'x', 12],
    [12, 'y', 13],
  ]);
});
