import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { IntakeBudget } from '../../../src/kafka/consume/window.ts';
import { Intake } from '../../../src/kafka/consume/intake.ts';
import { Account, type OwnedPartition } from '../../../src/kafka/consume/owned-partition.ts';
import type { Cursor } from '../../../src/kafka/fetch/cursor.ts';
import { silentLogger } from '../../../src/ops/log.ts';

const place = { topic: 'topic', partition: 0 };

/** A member with one partition, of which one record is in flight. */
async function scene() {
  const cursors: Cursor[] = [];
  const told: string[] = [];
  const owned: OwnedPartition[] = [];
  let lookUps = Promise.resolve();
  let commits = Promise.resolve();
  const lookedUp: AbortSignal[] = [];
  const intake: Intake = new Intake({
    fetcher: {
      add: (cursor) => cursors.push(cursor),
      remove: () => undefined,
      pause: () => undefined,
      resume: () => undefined,
    },
    log: silentLogger,
    maxBytesPerPartition: 1_000,
    lookUp: async (partitions, signal) => {
      lookedUp.push(signal);
      await lookUps;
      return partitions.map((partition) => {
        owned.push(partition);
        return { partition, account: new Account(0, undefined), epoch: -1, topicId: undefined };
      });
    },
    commit: () => {
      const ours = Array.from(intake.owned(), ({ partition }) => partition);
      told.push(`commit of ${ours.join() || 'nothing'}`);
      return commits;
    },
    commitSoon: () => undefined,
    onFinished: () => undefined,
    rejoin: () => told.push('rejoin'),
    limitsOf: () => ({ records: 10, bytes: 1_000 }),
    budget: new IntakeBudget({ records: Infinity, bytes: Infinity }),
    onRecords: () => undefined,
    onRedelivered: () => undefined,
    onAssigned: () => undefined,
    onRevoked: () => undefined,
    onLost: () => told.push('lost'),
    onRecordsGone: () => undefined,
    onUnreadable: () => undefined,
    onRefused: () => undefined,
    onRefreshed: () => undefined,
  });
  intake.assigned([place], true);
  await turn();
  const account = owned[0]?.account ?? assert.fail();
  const slot = account.tracker.add(0, 1, 0) ?? assert.fail();
  return {
    intake,
    told,
    cursors,
    /** A signal for each look-up so far. */
    lookedUp,
    /** Commits last until then. */
    commitUntil: (promise: Promise<void>) => {
      commits = promise;
    },
    /** Positions are not found before that. */
    lookUpAfter: (promise: Promise<void>) => {
      lookUps = promise;
    },
    finish: () => {
      account.finish(slot);
    },
  };
}

test('a partition that is handed over is committed when nothing of it is in flight, and then left', async () => {
  const { intake, told, finish } = await scene();
  intake.assigned([], true);
  await turn();
  assert.deepEqual(told, []);
  finish();
  await turn();
  assert.deepEqual(told, ['commit of 0', 'lost', 'rejoin']);
});

test('a member that gets one more partition has not joined until it knows where to read that', async () => {
  const { intake, lookUpAfter } = await scene();
  assert.ok(intake.isJoined);
  const found = Promise.withResolvers<undefined>();
  lookUpAfter(found.promise.then(() => undefined));
  intake.assigned([place, { ...place, partition: 1 }], true);
  await turn();
  assert.ok(!intake.isJoined);
  found.resolve(undefined);
  await turn();
  assert.ok(intake.isJoined);
});

test('once others may have begun with it, nothing more of it is committed', async () => {
  const { intake, told, finish } = await scene();
  intake.assigned([], true);
  await turn();
  // A member of a former release has joined: all partitions are dealt anew at once.
  intake.assigned([], false);
  finish();
  await turn();
  assert.deepEqual(told, ['lost']);
  // And if it comes back at once, it is read from what is committed.
  intake.assigned([place], false);
  await turn();
  assert.equal([...intake.owned()][0]?.account?.tracker.next, 0);
});

test('what is lost in the moment in which it could be handed over is not, and nobody joins again for it', async () => {
  const { intake, told, finish } = await scene();
  intake.assigned([], true);
  finish();
  intake.assigned([], false);
  await turn();
  assert.deepEqual(told, ['lost']);
});

test('what comes back while its last commit is under way is not taken for what was handed over', async () => {
  const { intake, told, finish, commitUntil } = await scene();
  const committed = Promise.withResolvers<undefined>();
  commitUntil(committed.promise.then(() => undefined));
  intake.assigned([], true);
  finish();
  await turn();
  // A member of a former release has joined, and the partition is dealt to this one again.
  intake.assigned([place], false);
  await turn();
  told.length = 0;
  committed.resolve(undefined);
  await turn();
  assert.deepEqual(told, ['rejoin']);
  assert.equal([...intake.owned()][0]?.isRevoked, false);
});

test('positions are looked up for the last assignment only', async () => {
  const { intake, lookedUp, lookUpAfter } = await scene();
  lookUpAfter(new Promise(() => undefined));
  const others = [1, 2, 3].map((partition) => ({ ...place, partition }));
  for (const other of others) intake.assigned([place, other], true);
  intake.expelled();
  intake.assigned([place], true);
  assert.deepEqual(
    lookedUp.slice(1).map(({ aborted }) => aborted),
    [true, true, true, false],
  );
});

test('a member that stops does not wait for what was in flight of a topic that is made again', async () => {
  const { intake, cursors } = await scene();
  const [cursor = assert.fail()] = cursors;
  intake.remade(cursor);
  await intake.close();
});

test('a topic that is made again while its partition is handed over is let go of once, and not read anew', async () => {
  const { intake, told, cursors, finish } = await scene();
  const [cursor = assert.fail()] = cursors;
  intake.assigned([], true);
  intake.remade(cursor);
  await turn();
  assert.deepEqual(told, []);
  finish();
  await turn();
  assert.deepEqual(told, ['commit of 0', 'lost', 'rejoin']);
  // Nobody has it any more.
  intake.remade(cursor);
  assert.deepEqual([told.length, cursors.length], [3, 1]);
});
