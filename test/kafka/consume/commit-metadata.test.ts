import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  decodeCommitMetadata,
  encodeCommitMetadata,
  mostGaps,
  UnfinishedPart,
} from '../../../src/kafka/consume/commit-metadata.ts';
import type { FinishedAhead } from '../../../src/kafka/consume/offset-tracker.ts';
import fc from '../../harness/fast-check.ts';

/** Kafka's default of `offset.metadata.max.bytes`. */
const mostBytes = 4_096;

interface Committed {
  readonly offset: number;
  readonly epoch: number;
  readonly ahead: FinishedAhead | undefined;
  readonly topicId: string | undefined;
}

/** Gaps at growing distances from the committed offset, the first of them it. */
function committed(differences: fc.Arbitrary<number[]>): fc.Arbitrary<Committed> {
  return fc
    .record({
      offset: fc.nat(2 ** 52),
      epoch: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
      differences,
      behind: fc.integer({ min: 1, max: 10_000 }),
      isBare: fc.boolean(),
      topicId: fc.option(fc.constantFrom('0123456789abcdef'.repeat(2), '7'.repeat(32)), {
        nil: undefined,
      }),
    })
    .map(({ offset, epoch, differences: distances, behind, isBare, topicId }) => {
      const unfinished = new Set([offset]);
      let last = offset;
      for (const distance of distances) unfinished.add((last += distance));
      const ahead = isBare ? undefined : { upTo: last + behind, unfinished };
      return { offset, epoch, ahead, topicId };
    });
}
const distance = fc.oneof(
  fc.integer({ min: 1, max: 3 }),
  fc.integer({ min: 1, max: 300 }),
  fc.integer({ min: 1, max: 2 ** 40 }),
);

test('what is committed is what the next owner knows', () => {
  fc.assert(
    fc.property(
      committed(fc.array(distance, { maxLength: 400, size: 'max' })),
      ({ offset, ...told }) => {
        const metadata = encodeCommitMetadata(offset, told);
        assert.deepEqual(decodeCommitMetadata(offset, metadata), told);
      },
    ),
    { endOnFailure: true },
  );
});

test('however much is told, brokers take it, and what does not fit is left out from the end', () => {
  const many = fc.array(distance, { minLength: 1_000, maxLength: 4_000, size: 'max' });
  fc.assert(
    fc.property(committed(many), ({ offset, ...told }) => {
      const { epoch, ahead } = told;
      const metadata = encodeCommitMetadata(offset, told);
      assert.ok(Buffer.byteLength(metadata) <= mostBytes, `${metadata.length} bytes`);
      const decoded = decodeCommitMetadata(offset, metadata);
      assert.equal(decoded.epoch, epoch);
      if (ahead === undefined) return;
      const { upTo, unfinished } = decoded.ahead ?? { upTo: NaN, unfinished: new Set() };
      assert.ok(upTo <= ahead.upTo);
      const gaps = [...ahead.unfinished].filter((each) => each < upTo);
      assert.deepEqual([...unfinished], gaps);
      assert.ok(gaps.length > 300, `${gaps.length} gaps`);
    }),
    // Thousands of gaps take long to shrink.
    { numRuns: 30, endOnFailure: true },
  );
});

test('three thousand gaps of one record fit', () => {
  const unfinished = new Set(Array.from({ length: mostGaps }, (_, i) => 7 + 2 * i));
  const ahead = { upTo: 7 + 2 * mostGaps, unfinished };
  const metadata = encodeCommitMetadata(7, { epoch: 2 ** 31 - 1, ahead, topicId: 'f'.repeat(32) });
  assert.ok(metadata.length <= mostBytes);
  assert.equal(decodeCommitMetadata(7, metadata).ahead?.unfinished.size, mostGaps);
});

test('a gap of which only the first bytes fit is left out, and nothing behind it counts as finished', () => {
  // The last two bytes that are free are too few for a distance of 2 ** 14, which is the least that takes three.
  const near = Array.from({ length: mostGaps - 2 }, (_, i) => 7 + i);
  const far = 7 + near.length - 1 + 2 ** 14;
  const ahead = { upTo: far + 10, unfinished: new Set([...near, far]) };
  const metadata = encodeCommitMetadata(7, { epoch: 0, ahead, topicId: undefined });
  assert.deepEqual(decodeCommitMetadata(7, metadata).ahead, {
    upTo: far,
    unfinished: new Set(near),
  });
});

test('what somebody else wrote, or another version, says nothing', () => {
  const nothing = { epoch: -1, ahead: undefined, topicId: undefined };
  for (const foreign of [null, '', 'consumer-1@host', '2;7;20;AQ', ';', '1', '1;', '1;x;20;AQ'])
    assert.deepEqual(decodeCommitMetadata(5, foreign), nothing, String(foreign));
  for (const half of ['1;7', '1;7;', '1;7;-3;AQ', '1;7;x'])
    assert.deepEqual(
      decodeCommitMetadata(5, half),
      { epoch: 7, ahead: undefined, topicId: undefined },
      half,
    );
});

test('what releases wrote that told nothing of the topic is read, and they read what is told now', () => {
  const ahead = { upTo: 8, unfinished: new Set([5]) };
  assert.deepEqual(decodeCommitMetadata(5, '1;7'), {
    epoch: 7,
    ahead: undefined,
    topicId: undefined,
  });
  assert.deepEqual(decodeCommitMetadata(5, '1;7;3;AA=='), { epoch: 7, ahead, topicId: undefined });
  const topicId = '7'.repeat(32);
  // They took no more than four fields, and what is no number for nothing that is finished ahead.
  assert.equal(encodeCommitMetadata(5, { epoch: 7, ahead, topicId }), `1;7;3;AA==;${topicId}`);
  assert.equal(
    encodeCommitMetadata(5, { epoch: 7, ahead: undefined, topicId }),
    `1;7;;;${topicId}`,
  );
});

test('what cannot be the id of a topic is none', () => {
  for (const id of ['x', 'F'.repeat(32), '7'.repeat(31), '7'.repeat(33)])
    assert.equal(decodeCommitMetadata(5, `1;7;;;${id}`).topicId, undefined, id);
});

test('nothing that somebody else wrote is an error', () => {
  const anything = fc.oneof(
    fc.string(),
    fc.string().map((text) => `1;3;9;${text}`),
  );
  fc.assert(
    fc.property(anything, (metadata) => {
      assert.ok(Number.isInteger(decodeCommitMetadata(5, metadata).epoch));
    }),
  );
});

test('what cannot be an epoch or an offset has no information', () => {
  const nothing = { epoch: -1, ahead: undefined, topicId: undefined };
  // An epoch is sent to brokers as 32 bits.
  for (const epoch of ['2147483648', '99999999999', '-2', '-0', '9'.repeat(400)])
    assert.deepEqual(decodeCommitMetadata(5, `1;${epoch}`), nothing, epoch);
  const withoutAhead = { epoch: 7, ahead: undefined, topicId: undefined };
  assert.deepEqual(decodeCommitMetadata(5, `1;7;${'9'.repeat(20)};AQ`), withoutAhead);
  const endless = Buffer.from([...Array<number>(200).fill(0x80), 1]).toString('base64');
  assert.deepEqual(decodeCommitMetadata(5, `1;7;10;${endless}`), withoutAhead);
});

function offsetsOf(part: UnfinishedPart): number[] {
  return Array.from({ length: 20 }, (_, offset) => offset).filter((offset) => part.has(offset));
}

describe('what a group has not finished of a partition', () => {
  test('is all from the committed offset on where nothing is said of gaps', () => {
    const part = new UnfinishedPart({ partition: 0, start: 3, end: 7 }, undefined);
    assert.deepEqual(offsetsOf(part), [3, 4, 5, 6]);
    assert.equal(part.count, 4);
  });

  test('leaves out what is finished ahead', () => {
    const ahead = { upTo: 10, unfinished: new Set([2, 4, 8]) };
    const part = new UnfinishedPart({ partition: 0, start: 3, end: 12 }, ahead);
    assert.deepEqual(offsetsOf(part), [4, 8, 10, 11]);
    assert.equal(part.count, 4);
  });

  test('is nothing where the log ends before the committed offset', () => {
    for (const ahead of [undefined, { upTo: 9, unfinished: new Set([8]) }])
      assert.equal(new UnfinishedPart({ partition: 0, start: 7, end: 5 }, ahead).count, 0);
  });
});
