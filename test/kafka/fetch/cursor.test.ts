import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { Cursor, wholeBatches } from '../../../src/kafka/fetch/cursor.ts';
import type { FetchRequest } from '../../../src/kafka/protocol/fetch.ts';
import { eventually } from '../../harness/eventually.ts';
import fc from '../../harness/fast-check.ts';
import type { FakeBrokers } from '../fake-brokers.ts';
import type { FakeLog } from '../fake-log.ts';
import { reading, topic, type Owner } from './fetch-scene.ts';

interface Backlog {
  readonly brokers: FakeBrokers;
  readonly owner: Owner;
  readonly logs: readonly FakeLog[];
  readonly cursors: readonly Cursor[];
}

/** Somebody who begins with a backlog, of which each fetch may bring so much of a partition. */
function behind(
  t: TestContext,
  partitions: number,
  limitBytes: number,
  write: (log: FakeLog, partition: number) => void,
): Backlog {
  const { brokers, owner, logs, fetcher, cursors: eager } = reading(t, partitions);
  for (const cursor of eager) fetcher.remove(cursor);
  const cursors = logs.map((log, partition) => {
    write(log, partition);
    const cursor = new Cursor({ topic, partition }, 0, limitBytes);
    fetcher.add(cursor);
    return cursor;
  });
  return { brokers, owner, logs, cursors };
}

async function untilAllIsRead({ logs, cursors }: Backlog): Promise<void> {
  await eventually(() => {
    for (const [i, { end }] of logs.entries()) assert.equal(cursors[i]?.offset, end);
  });
}

/** Of what is fetched, against what is in the log. */
function fetchedRatio({ brokers, logs }: Backlog): number {
  return brokers.fetchedBytes / logs.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Of any fetch, for any partition. */
function assertNoneAbove(limitBytes: number, { brokers }: Backlog): void {
  for (const { api, request } of brokers.asked) {
    if (api !== 'Fetch') continue;
    for (const { partitions } of (request as FetchRequest).topics)
      for (const { maxBytes } of partitions) assert.ok(maxBytes <= limitBytes, `${maxBytes} asked`);
  }
}

/** As a producer fills them: they differ by a few percent. */
function appendAlike(log: FakeLog, batches: number, bytes: number): void {
  for (let i = 0; i < batches; i += 1)
    log.append('x'.repeat(Math.round(bytes * (1 - ((i * 7) % 11) / 200))));
}

describe('how much is asked for', { concurrency: true }, () => {
  for (const [batchKb, limitKb] of [
    [21, 32],
    [105, 256],
    [265, 1_024],
    [15.9, 32],
    [12, 32],
    [5.5, 32],
    [1, 32],
    [40, 32],
  ] as const)
    test(`a backlog in batches of ${batchKb} KB, ${limitKb} KB at a time, is fetched hardly more than once`, async (t) => {
      const backlog = behind(t, 2, limitKb * 1_024, (log) => {
        appendAlike(log, 40, batchKb * 1_024);
      });
      await untilAllIsRead(backlog);
      assertNoneAbove(limitKb * 1_024, backlog);
      const ratio = fetchedRatio(backlog);
      assert.ok(ratio <= 1.15, `${ratio.toFixed(2)} times the log`);
    });

  test('of batches that are all alike, little more than a sixteenth is fetched twice', async (t) => {
    const backlog = behind(t, 1, 32 * 1_024, (log) => {
      for (let i = 0; i < 200; i += 1) log.append('x'.repeat(5.5 * 1_024));
    });
    await untilAllIsRead(backlog);
    const ratio = fetchedRatio(backlog);
    assert.ok(ratio <= 1.07, `${ratio.toFixed(3)} times the log`);
  });

  test('as many batches as fit come in one answer', async (t) => {
    const backlog = behind(t, 1, 32 * 1_024, (log) => {
      appendAlike(log, 60, 5.5 * 1_024);
    });
    await untilAllIsRead(backlog);
    const answers = backlog.brokers.asked.filter(({ api }) => api === 'Fetch').length;
    assert.ok(answers <= 60 / 5 + 3, `${answers} answers for 60 batches`);
  });

  test('no more than the limit is asked for, and every record comes once, whatever the batches are like', async (t) => {
    const kb = fc.integer({ min: 1, max: 90 });
    const logs = fc.array(fc.array(kb, { maxLength: 12 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(logs, async (sizes) => {
        const values = (partition: number): string[] =>
          (sizes[partition] ?? []).map((size, i) => String(i % 10).repeat(size * 1_024));
        const limitBytes = 32 * 1_024;
        const backlog = behind(t, sizes.length, limitBytes, (log, partition) => {
          for (const value of values(partition)) log.append(value);
        });
        await untilAllIsRead(backlog);
        for (const partition of sizes.keys())
          assert.equal(backlog.owner.of(partition), values(partition).join(' '));
        assertNoneAbove(limitBytes, backlog);
      }),
      { numRuns: 30 },
    );
  });
});

test('what is asked for has the next batch in it, and never more than the limit', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 100, max: 100_000 }),
      fc.integer({ min: 0, max: 100_000 }),
      fc.integer({ min: 61, max: 100_000 }),
      (limitBytes, largestBytes, cutBytes) => {
        const bytes = wholeBatches(limitBytes, { largestBytes, cutBytes });
        assert.ok(bytes >= Math.min(limitBytes, cutBytes) && bytes <= limitBytes);
      },
    ),
  );
});
