import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { OwnedIndexes } from '../../src/delivery/lane/work-shares.ts';
import { startReader, workerBudgets } from '../../src/delivery/reader.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { eventually } from '../harness/eventually.ts';
import { FakeBrokers } from '../kafka/fake-brokers.ts';

/** What a reader has told its engine of. */
function startTelling(t: TestContext, kafka: FakeBrokers): OwnedIndexes[] {
  const told: OwnedIndexes[] = [];
  const none = (): void => undefined;
  const loop = startReader({
    kafka,
    clock: systemClock,
    log: silentLogger,
    engine: { take: none, revoke: none, lose: none, sharesChanged: (owned) => told.push(owned) },
    groupId: 'delivery',
    topics: ['delivery', 'retry.10s'],
    isRetryTopic: (topic) => topic === 'retry.10s',
    homeTopic: 'retry.10s',
    dedicatedTo: undefined,
    budgets: workerBudgets(),
    observer: {},
    mayTakeMore: () => true,
  });
  t.after(() => loop.stop(0));
  return told;
}

test('homes are in the topic that what lies elsewhere is put off to, however many partitions others have', async (t) => {
  const kafka = new FakeBrokers(1);
  kafka.makeTopic('delivery', 12);
  kafka.makeTopic('retry.10s', 4);
  const readers = [startTelling(t, kafka), startTelling(t, kafka)];
  const owned = (): number[] =>
    readers.flatMap((told) => [...(told.at(-1)?.indexes ?? [])]).toSorted((a, b) => a - b);
  await eventually(() => {
    assert.deepEqual(owned(), [0, 1, 2, 3]);
    const some = readers.map((told) => told.at(-1)).filter((last) => last?.indexes.size !== 0);
    assert.ok(some.every((last) => last?.count === 4));
  });
});
