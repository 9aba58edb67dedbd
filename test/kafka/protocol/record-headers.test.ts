import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codecId } from '../../../src/kafka/protocol/compressor.ts';
import { FetchedRecords } from '../../../src/kafka/protocol/fetched-records.ts';
import { makeBatch, readAll, varint, type MadeRecord } from './make-batch.ts';

type MadeHeaders = NonNullable<MadeRecord['headers']>;

function headersOf(...headers: MadeHeaders): Readonly<Record<string, string | undefined>> {
  const { shown, problem } = readAll(makeBatch({ records: [{ headers }] }));
  assert.equal(problem, undefined);
  return shown[0]?.headers ?? {};
}

function manyHeaders(count: number, value: string): MadeHeaders {
  return Array.from({ length: count }, (_, i) => [String(i), value] as const);
}

test('of headers with the same name, the last counts', () => {
  assert.deepEqual(headersOf(['a', '1'], ['b', '2'], ['a', '3']), { a: '3', b: '2' });
  assert.deepEqual(headersOf(['a', '1'], ['a', null]), { a: undefined });
});

test('a header may be named like what every object has', () => {
  const names = ['__proto__', 'constructor', 'toString', ''];
  const headers = headersOf(...names.map((name) => [name, `of ${name}`] as const));
  assert.deepEqual(
    Object.entries(headers),
    names.map((name) => [name, `of ${name}`]),
  );
});

test('names that are alike in length and ending are told apart, record after record', () => {
  const names = ['one', 'two', 'ane', 'öe', 'ooe', 'x'.repeat(200), `y${'x'.repeat(199)}`];
  for (const name of [...names, ...names.toReversed(), ...names])
    assert.deepEqual(headersOf([name, 'v']), { [name]: 'v' });
});

test('up to 144 headers and 72 KB of them are shown', () => {
  const most = headersOf(...manyHeaders(144, 'value'));
  assert.deepEqual([Object.keys(most).length, most['143']], [144, 'value']);
  const nameAndLengths = 1 + 1 + 3;
  const longest = 'x'.repeat(72 * 1024 - nameAndLengths);
  assert.equal(headersOf(['n', longest])['n'], longest);
});

test('of a record with more, the headers are left out with the reason, and reading goes on behind it', () => {
  const nameAndLengths = 1 + 1 + 3;
  const tooLong = 'x'.repeat(72 * 1024 + 1 - nameAndLengths);
  for (const [headers, flaw] of [
    [manyHeaders(145, ''), 'it has 145 headers, and 144 are allowed'],
    [[['n', tooLong]] as const, 'its headers have 73,729 bytes, and 73,728 are allowed'],
  ] as const) {
    const records = [
      { key: 'a', value: '1', headers },
      { key: 'b', value: '2', headers: [['n', 'v']] as const },
    ];
    const { shown, problem } = readAll(makeBatch({ codec: codecId.zstd, records }));
    assert.deepEqual(
      shown.map((each) => [each.key, each.value, each.headers, each.flaw]),
      [
        ['a', '1', {}, flaw],
        ['b', '2', { n: 'v' }, undefined],
      ],
    );
    assert.equal(problem, undefined);
  }
});

test('records with hundreds of thousands of headers each take hardly any memory', () => {
  const count = 300_000;
  const attributesAndTimestamp = Buffer.alloc(2);
  const noKeyOrValue = Buffer.from([1, 1]);
  // Each has an empty name and an empty value.
  const headers = Buffer.alloc(2 * count);
  const records = Array.from({ length: 20 }, (_, i) => {
    const fields = [attributesAndTimestamp, varint(i), noKeyOrValue, varint(count), headers];
    const body = Buffer.concat(fields);
    return Buffer.concat([varint(body.length), body]);
  });
  const batch = { count: 20, lastOffsetDelta: 19, unpacked: Buffer.concat(records) };
  const bytes = makeBatch({ ...batch, codec: codecId.zstd });
  assert.ok(bytes.length < 100_000);
  const fetched = new FetchedRecords(bytes, 0, []);
  const before = process.memoryUsage().heapUsed;
  while (fetched.next()) assert.equal(fetched.flaw, 'it has 300,000 headers, and 144 are allowed');
  assert.equal(fetched.position, 20);
  assert.ok(process.memoryUsage().heapUsed - before < 5_000_000);
});
