import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import original from 'kafkajs';
import { codecOf } from '../../../src/kafka/protocol/codecs.ts';
import { codecId } from '../../../src/kafka/protocol/compressor.ts';
import { makeBatch, readAll, type MadeRecord, type Shown } from './make-batch.ts';

/** Whatever is written is read again, and whatever happens to the bytes, nothing else is. */

const require = createRequire(import.meta.url);
const protocol = 'kafkajs/src/protocol';
const { RecordBatch } = require(`${protocol}/recordBatch/v0`) as {
  readonly RecordBatch: (options: object) => Promise<{ readonly buffer: Buffer }>;
};
const encodeRecord = require(`${protocol}/recordBatch/record/v0`) as (record: object) => object;

const withOurCodec = (id: number): (() => object) => {
  const compress = ({ buffer }: { readonly buffer: Buffer }): unknown =>
    codecOf(id)?.compress(buffer);
  return () => ({ compress });
};
const ids = [codecId.snappy, codecId.lz4, codecId.zstd];
Object.assign(
  original.CompressionCodecs,
  Object.fromEntries(ids.map((id) => [id, withOurCodec(id)])),
);

const anyText = fc.string({ maxLength: 60 });
const anyRecord = fc.record({
  gap: fc.nat(3),
  timestampDelta: fc.integer({ min: -1_000_000_000, max: 2 ** 50 }),
  key: fc.option(anyText),
  value: fc.option(fc.string({ maxLength: 300 })),
  headers: fc.dictionary(anyText, anyText, { maxKeys: 4 }),
});
const anyBatch = fc.record({
  gap: fc.nat(5),
  tail: fc.nat(5),
  codec: fc.constantFrom(...Object.values(codecId)),
  firstTimestampMs: fc.nat(2 ** 48),
  format: fc.constantFrom<'ours' | 'theirs'>('ours', 'theirs'),
  records: fc.array(anyRecord, { maxLength: 5 }),
});
type AnyBatch = typeof anyBatch extends fc.Arbitrary<infer T> ? T : never;

interface Written {
  readonly bytes: Buffer;
  readonly expected: readonly Plain[];
  readonly endOffset: number;
}

test('any records are read as they were written, in batches of ours and of kafkajs', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyBatch, { maxLength: 4 }), fc.nat(40), async (batches, from) => {
      const { bytes, expected, endOffset } = await writeAll(batches);
      const { shown, position, problem } = readAll(bytes, from);
      assert.equal(problem, undefined);
      assert.deepEqual(
        shown.map(withoutPosition),
        expected.filter(({ offset }) => offset >= from),
      );
      assert.equal(position, Math.max(from, endOffset));
      shown.reduce((before, { offset, position: after }) => {
        assert.ok(offset >= before && after > offset);
        return after;
      }, from);
    }),
  );
});

test('of bytes that are cut off anywhere, what is shown is how it was written', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyBatch, { minLength: 1, maxLength: 3 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (batches, share) => {
        const { bytes, expected } = await writeAll(batches);
        const { shown, problem } = readAll(bytes.subarray(0, Math.floor(bytes.length * share)));
        assert.equal(problem, undefined);
        assert.deepEqual(shown.map(withoutPosition), expected.slice(0, shown.length));
      },
    ),
  );
});

test('any one flipped bit behind the checksum is found, and nothing of the batch is shown', async () => {
  await fc.assert(
    fc.asyncProperty(anyBatch, fc.nat(), async (batch, anyBit) => {
      const before = makeBatch({ records: [{ value: 'before' }] });
      const { bytes } = await writeAll([{ ...batch, gap: 1 }]);
      const behindChecksum = 21;
      const bit = anyBit % ((bytes.length - behindChecksum) * 8);
      const at = behindChecksum + (bit >> 3);
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (bit & 7)), at);
      const { shown, position, problem } = readAll(Buffer.concat([before, bytes]));
      assert.deepEqual([shown.length, position], [1, 1]);
      assert.match(problem ?? '', /checksum/);
    }),
  );
});

test('whatever the bytes are, reading them ends', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyBatch, { minLength: 1, maxLength: 3 }),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 5 }),
      async (batches, changes) => {
        const { bytes } = await writeAll(batches);
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        readAll(bytes);
      },
    ),
  );
});

async function writeAll(batches: readonly AnyBatch[]): Promise<Written> {
  const parts: Buffer[] = [];
  const expected: Plain[] = [];
  let endOffset = 0;
  for (const batch of batches) {
    const written = await write(batch, endOffset + batch.gap);
    parts.push(written.bytes);
    expected.push(...written.expected);
    if (written.bytes.length > 0) endOffset = written.endOffset;
  }
  return { bytes: Buffer.concat(parts), expected, endOffset };
}

async function write(batch: AnyBatch, firstOffset: number): Promise<Written> {
  const { codec, firstTimestampMs, format, tail } = batch;
  let next = 0;
  const records = batch.records.map(({ gap, headers, ...record }) => {
    const offsetDelta = next + gap;
    next = offsetDelta + 1;
    return { ...record, headers: Object.entries(headers), offsetDelta };
  });
  const expected = records.map((record) => ({
    offset: firstOffset + record.offsetDelta,
    timestampMs: firstTimestampMs + record.timestampDelta,
    key: record.key,
    value: record.value,
    headers: Object.fromEntries(record.headers),
    flaw: undefined,
  }));
  const options = { codec, firstTimestampMs, firstOffset, lastOffsetDelta: next + tail };
  const bytes =
    format === 'ours'
      ? makeBatch({ ...options, records })
      : await writeTheirs(
          { ...options, compression: codec, firstTimestamp: firstTimestampMs },
          records,
        );
  return { bytes, expected, endOffset: firstOffset + next + tail + 1 };
}

type Plain = Omit<Shown, 'position'>;

/** By kafkajs, which writes no batch without records. */
async function writeTheirs(options: object, records: readonly MadeRecord[]): Promise<Buffer> {
  const encoded = records.map(({ headers = [], ...record }) =>
    encodeRecord({ ...record, headers: Object.fromEntries(headers) }),
  );
  return (await RecordBatch({ ...options, records: encoded })).buffer;
}

function withoutPosition(shown: Shown): Plain {
  const { offset, timestampMs, key, value, headers, flaw } = shown;
  return { offset, timestampMs, key, value, headers, flaw };
}
