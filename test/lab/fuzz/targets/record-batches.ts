import assert from 'node:assert/strict';
import { crc32c } from '../../../../src/kafka/protocol/crc32c.ts';
import { FetchedRecords } from '../../../../src/kafka/protocol/fetched-records.ts';
import {
  control,
  logAppendTime,
  makeBatch,
  makeMarker,
  transactional,
} from '../../../kafka/protocol/make-batch.ts';
import type { Target } from '../engine/target.ts';

const records = [
  { key: 'crm:u1', value: '{"type":"track"}', headers: [['postrider', '{"v":1}']] as const },
  {
    key: null,
    value: null,
    headers: [
      ['__proto__', null],
      ['a', ''],
      ['a', 'b'],
    ] as const,
  },
];

/**
 * The first byte: whether checksums are put right, whether a transaction was aborted, and whether a reader
 * pauses between records.
 */
export const target: Target = {
  about:
    'fetched record batches: records in order within what was asked for, or one problem with a sentence',
  seeds: [
    seed(makeBatch({ records })),
    ...[1, 2, 3, 4].map((codec) => seed(makeBatch({ records, codec, firstOffset: 7 }))),
    seed(makeBatch({ records, attributes: logAppendTime, maxTimestampMs: 1_700_000_000_000 })),
    seed(
      makeBatch({ records, attributes: transactional, producerId: 3 }),
      makeMarker(2, 3, 'abort'),
      makeBatch({ records, firstOffset: 3 }),
    ),
    seed(makeBatch({ records, attributes: control })),
  ],
  check(input) {
    const [mode = 0] = input;
    const bytes = input.subarray(1);
    if ((mode & 1) !== 0) putChecksumsRight(bytes);
    const aborted = (mode & 2) === 0 ? [] : [{ producerId: 3, firstOffset: 0 }];
    const fromOffset = mode >> 4;
    const plain = read(bytes, fromOffset, aborted, false);
    // Whoever pauses must get the same.
    if ((mode & 4) !== 0) assert.deepEqual(read(bytes, fromOffset, aborted, true), plain);
  },
};

function seed(...batches: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([7]), ...batches]);
}

type Aborted = ConstructorParameters<typeof FetchedRecords>[2];

function read(bytes: Buffer, fromOffset: number, aborted: Aborted, pauses: boolean): unknown[] {
  const fetched = new FetchedRecords(bytes, fromOffset, aborted);
  const found: unknown[] = [];
  let last = fromOffset - 1;
  while (fetched.next()) {
    const { offset, key, value, headers, flaw, position, timestampMs } = fetched;
    assert.ok(offset > last, 'offsets ascend');
    assert.ok(position > offset, 'the position is behind the record');
    assert.ok(Number.isInteger(timestampMs));
    assert.ok(Object.getPrototypeOf(headers) === Object.prototype || flaw !== undefined);
    last = offset;
    found.push([offset, timestampMs, key?.toString('hex'), value?.toString('hex'), flaw]);
    found.push(Object.entries(headers).map(([name, each]) => [name, each?.toString('hex')]));
    if (pauses) fetched.pause();
  }
  assert.ok(fetched.position >= fromOffset, 'nothing is read again');
  const { problem } = fetched;
  assert.equal(fetched.next(), false);
  if (problem === undefined) return found;
  const { cause } = problem;
  assert.ok(
    cause instanceof RangeError ||
      (cause instanceof Error && / data cannot be decompressed: /.test(cause.message)),
    String(cause),
  );
  return [...found, problem.message];
}

/** Corrects the checksum of each batch, as far as their lengths lead. */
function putChecksumsRight(bytes: Buffer): void {
  for (let at = 0; at + 26 <= bytes.length;) {
    const end = at + 12 + bytes.readInt32BE(at + 8);
    if (end <= at + 26 || end > bytes.length) return;
    if (end >= at + 61) bytes.writeUInt32BE(crc32c(bytes.subarray(at + 21, end)), at + 17);
    at = end;
  }
}
