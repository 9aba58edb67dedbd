import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  readMarks,
  Redrives,
  redriveRecord,
  redriveSlices,
} from '../../src/dead-letter/redrives.ts';
import { FakeAdmin } from '../kafka/fake-admin.ts';
import { rejectedLetter } from './letters.ts';

const topic = 'p.ingest.rejected';

interface Mark {
  readonly partition?: number;
  readonly offset: number;
  readonly letterMs?: number;
  readonly timeMs?: number;
}

type Written = Parameters<Redrives['collect']>[0];

/** As `redrive` writes it. */
function written({ partition = 2, offset, letterMs = 2_000, timeMs = 5_000 }: Mark): Written {
  const { record } = rejectedLetter({ offset });
  const { key, value } = redriveRecord(
    '',
    { ...rejectedLetter(), record: { ...record, partition, timestampMs: letterMs } },
    { time: new Date(timeMs).toISOString(), redrive: 'run1' },
  );
  return { key: Buffer.from(String(key)), value: Buffer.from(String(value)) };
}

async function* each(marks: Iterable<Mark>): AsyncGenerator<Written> {
  for (const mark of marks) {
    await Promise.resolve();
    yield written(mark);
  }
}

function offsets(count: number, offsetOf: (index: number) => number): number[] {
  return Array.from({ length: count }, (_, index) => offsetOf(index));
}

test('marks of letters outside the selected ranges take no memory', async () => {
  const ranges = [{ partition: 2, start: 20_000, end: 20_002 }];
  const marks = offsets(3_000, (i) => i).map((offset) => ({ offset }));
  const slices = redriveSlices({ topic, ranges }, () => each([...marks, { offset: 20_001 }]));
  const { value: slice } = await slices.next();
  assert.ok(slice);
  assert.deepEqual(slice.ranges, ranges);
  assert.equal(slice.redrives.size, 1);
  assert.ok(slice.redrives.bytes <= 2_048, `${slice.redrives.bytes} bytes`);
  const at = { partition: 2, timestampMs: 2_000 };
  assert.equal(slice.redrives.timeMsOf({ ...at, offset: 20_000 }), undefined);
  assert.equal(slice.redrives.timeMsOf({ ...at, offset: 20_001 }), 5_000);
  assert.equal((await slices.next()).done, true);
});

test('marks are read to the end that the present leader has, also where a former one tells of an earlier end', async () => {
  const kafka = new FakeAdmin('redrives');
  const [log] = kafka.brokers.makeTopic('redrives', 1);
  log?.append('first');
  log?.append('second');
  kafka.told = { end: 1, committed: -1 };
  const marks: string[] = [];
  for await (const { value } of readMarks(kafka.client, 'redrives', undefined))
    marks.push(String(value));
  assert.deepEqual(marks, ['first', 'second']);
});

test('a mark takes at most 64 bytes, however the marked letters are spread', () => {
  for (const distance of [1, 7, 1_024, 65_536, 2 ** 33]) {
    const redrives = new Redrives(topic);
    const marked = offsets(5_000, (i) => i * distance);
    for (const offset of marked) redrives.collect(written({ offset, timeMs: offset % 1_000 }));
    assert.equal(redrives.size, marked.length);
    assert.ok(redrives.bytes / redrives.size <= 64, `${redrives.bytes / redrives.size} bytes`);
    for (const offset of marked) {
      const letter = { partition: 2, offset, timestampMs: 2_000 };
      assert.equal(redrives.timeMsOf(letter), offset % 1_000);
      const next = { ...letter, offset: offset + distance / 2 };
      assert.equal(redrives.timeMsOf(next), undefined);
    }
  }
});

test('more marks than fit are looked at in slices, which tell the same of every letter', async () => {
  const lengths = [4_000, 1, 0, 900];
  const ranges = lengths.map((length, partition) => ({
    partition,
    start: 100 * partition,
    end: 100 * partition + length,
  }));
  // Of the first partition, only the end was sent again; of the last one, every second letter.
  const isMarked = (partition: number, offset: number): boolean =>
    partition === 0 ? offset >= 3_000 : offset % 2 === 0;
  const marks = ranges.flatMap(({ partition, start, end }) =>
    offsets(end - start, (i) => start + i)
      .filter((offset) => isMarked(partition, offset))
      .map((offset) => ({ partition, offset })),
  );
  const most = 100;
  const told = new Map<string, boolean>();
  const reached = new Map<number, number>();
  for await (const slice of redriveSlices({ topic, ranges }, () => each(marks), most)) {
    assert.ok(slice.redrives.size <= most, `${slice.redrives.size} marks at a time`);
    for (const { partition, start, end } of slice.ranges) {
      assert.equal(start, reached.get(partition) ?? 100 * partition, 'goes on where it was');
      reached.set(partition, end);
      for (let offset = start; offset < end; offset += 1) {
        const timeMs = slice.redrives.timeMsOf({ partition, offset, timestampMs: 2_000 });
        told.set(`${partition}:${offset}`, timeMs !== undefined);
      }
    }
  }
  const expected = ranges.flatMap(({ partition, start, end }) =>
    offsets(end - start, (i) => start + i).map(
      (offset) => [`${partition}:${offset}`, isMarked(partition, offset)] as const,
    ),
  );
  assert.deepEqual([...told].sort(), expected.sort());
});

test('the latest mark of a letter counts, in whatever order they are read', () => {
  for (const times of [
    [5_000, 9_000],
    [9_000, 5_000],
  ]) {
    const redrives = new Redrives(topic);
    for (const timeMs of times) redrives.collect(written({ offset: 1, timeMs }));
    const letter = { partition: 2, offset: 1, timestampMs: 2_000 };
    assert.equal(redrives.timeOf(letter), '1970-01-01T00:00:09.000Z');
    assert.equal(redrives.size, 1);
  }
});

test('of a topic that was made again, the mark that was read last counts', () => {
  const redrives = new Redrives(topic);
  redrives.collect(written({ offset: 1, letterMs: 2_000, timeMs: 9_000 }));
  redrives.collect(written({ offset: 1, letterMs: 3_000, timeMs: 5_000 }));
  const letter = { partition: 2, offset: 1 };
  assert.equal(redrives.timeMsOf({ ...letter, timestampMs: 2_000 }), undefined);
  assert.equal(redrives.timeMsOf({ ...letter, timestampMs: 3_000 }), 5_000);
});
