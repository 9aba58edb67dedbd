import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Committer, mostFinished } from '../../../src/kafka/consume/committer.ts';
import { decodeCommitMetadata } from '../../../src/kafka/consume/commit-metadata.ts';
import type { Commit, CommitAnswer } from '../../../src/kafka/consume/coordinator.ts';
import { Account, OwnedPartition } from '../../../src/kafka/consume/owned-partition.ts';
import type { KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { SimulatedClock } from '../../delivery/simulated-clock.ts';

const topic = 'topic';

/** Partitions of which ten records each, or so many, are in flight, and a broker that takes commits. */
function scene(partitions: number = 1, inFlight: number = 10) {
  const owned = Array.from({ length: partitions }, (_, partition) => {
    const each = new OwnedPartition({ topic, partition }, { records: 100, bytes: 1_000 });
    each.account = new Account(0, undefined);
    for (let offset = 0; offset < inFlight; offset += 1) each.account.tracker.add(offset, 1, 0);
    return each;
  });
  const clock = new SimulatedClock();
  const sent: (readonly Commit[])[] = [];
  const failed: string[] = [];
  const errors = new Map<number, KafkaErrorName>();
  let sending: () => Promise<unknown> = () => Promise.resolve();
  const committer = new Committer({
    owned: () => owned,
    send: async (commits): Promise<CommitAnswer[]> => {
      sent.push(commits);
      await sending();
      return commits.map(({ partition }) => ({
        topic,
        partition,
        error: errors.get(partition) ?? 'NONE',
      }));
    },
    clock,
    log: silentLogger,
    onFailed: ({ message }) => failed.push(message),
  });
  for (const { account } of owned)
    if (account !== undefined)
      account.onFinished = () => {
        committer.finished();
      };
  return {
    owned,
    clock,
    sent,
    failed,
    errors,
    committer,
    /** By partition, in the order in which they were sent. */
    commits: () => sent.map((each) => each.map(({ partition, offset }) => [partition, offset])),
    finish: (partition: number, ...slots: readonly number[]) => {
      for (const slot of slots) owned[partition]?.account?.finish(slot);
    },
    whileSending: (wait: () => Promise<unknown>) => {
      sending = wait;
    },
  };
}

test('what is finished of all partitions is committed in one request, and again only when there is more', async () => {
  const { committer, commits, finish } = scene(3);
  finish(0, 0, 1);
  finish(2, 0);
  assert.equal(await committer.commit(), true);
  assert.equal(await committer.commit(), true);
  finish(1, 0);
  await committer.commit();
  assert.deepEqual(commits(), [
    [
      [0, 2],
      [1, 0],
      [2, 1],
    ],
    [[1, 1]],
  ]);
});

test('what is finished behind an unfinished record is committed with it', async () => {
  const { committer, sent, finish } = scene();
  await committer.commit();
  finish(0, 3);
  await committer.commit();
  const [commit] = sent[1] ?? [];
  const { ahead } = decodeCommitMetadata(commit?.offset ?? -1, commit?.metadata ?? '');
  assert.deepEqual(ahead?.unfinished, new Set([0, 1, 2, 4, 5, 6, 7, 8, 9]));
});

test('at most five commits a second are sent, however often a little is finished', async () => {
  const { committer, sent, finish, clock } = scene();
  committer.soon();
  for (let slot = 0; slot < 10; slot += 1) {
    finish(0, slot);
    await clock.pass(100);
  }
  assert.equal(sent.length, 5);
  committer.stop();
  await clock.pass(1_000);
  assert.equal(sent.length, 5);
});

test('what is finished is committed a fifth of a second later; where nothing is, no timer runs', async () => {
  const { committer, sent, finish, clock } = scene();
  await committer.commit();
  finish(0, 0);
  await clock.pass(200);
  assert.equal(sent.length, 2);
  await clock.pass(200);
  const { mock: timers } = mock.method(clock, 'after');
  await clock.pass(10_000);
  assert.equal(timers.callCount(), 0);
  finish(0, 1);
  await clock.pass(200);
  assert.equal(sent.length, 3);
});

test('what is much is committed at once, and soon again only what is much again', async () => {
  const { sent, finish, clock, commits } = scene(1, 3 * mostFinished);
  const finishMany = (from: number, count: number): void => {
    for (let slot = from; slot < from + count; slot += 1) finish(0, slot);
  };
  finishMany(0, mostFinished - 1);
  await clock.pass(1);
  assert.equal(sent.length, 0);
  finishMany(mostFinished - 1, 1);
  await clock.pass(1);
  finishMany(mostFinished, mostFinished);
  await clock.pass(1);
  finishMany(2 * mostFinished, 1);
  await clock.pass(199);
  assert.equal(sent.length, 2);
  await clock.pass(1);
  assert.deepEqual(
    commits().map(([commit]) => commit?.[1]),
    [mostFinished, 2 * mostFinished, 2 * mostFinished + 1],
  );
});

test('what is much and cannot be committed, or must not be, is not tried at each record', async () => {
  const { sent, finish, clock, errors } = scene(1, 4 * mostFinished);
  errors.set(0, 'GROUP_AUTHORIZATION_FAILED');
  for (let slot = 0; slot < 4 * mostFinished; slot += 1) {
    finish(0, slot);
    if (slot % 500 === 0) await clock.pass(1);
  }
  assert.equal(sent.length, 1);
});

test('what was finished in doubt is committed when it is known that nobody went on', async () => {
  const { sent, finish, clock, owned } = scene();
  for (const each of owned) each.isDoubtful = true;
  finish(0, 0);
  await clock.pass(5_000);
  assert.deepEqual(sent, []);
  for (const each of owned) each.isDoubtful = false;
  await clock.pass(200);
  assert.equal(sent.length, 1);
});

test('a broker that is slow to answer is not asked for more meanwhile', async () => {
  const { committer, sent, finish, clock, whileSending } = scene();
  const answered = Promise.withResolvers<undefined>();
  whileSending(() => answered.promise);
  committer.soon();
  finish(0, 0);
  await clock.pass(200);
  finish(0, 1);
  await clock.pass(5_000);
  assert.equal(sent.length, 1);
  answered.resolve(undefined);
  await clock.pass(200);
  assert.deepEqual(sent[1]?.[0]?.offset, 2);
  committer.stop();
});

test('one at a time: an older commit never comes after a newer', async () => {
  const { committer, sent, finish, whileSending } = scene();
  const answered = Promise.withResolvers<undefined>();
  whileSending(() => answered.promise);
  finish(0, 0);
  const [first, second] = [committer.commit(), committer.commit()];
  await new Promise(setImmediate);
  finish(0, 1);
  assert.equal(sent.length, 1);
  answered.resolve(undefined);
  assert.deepEqual(await Promise.all([first, second]), [true, true]);
  assert.deepEqual(
    sent.map((each) => each[0]?.offset),
    [1, 2],
  );
});

test('a partition that is refused hides no acknowledgement of the others, and is sent again', async () => {
  const { committer, commits, finish, errors, failed, owned } = scene(3);
  errors.set(1, 'UNKNOWN_SERVER_ERROR');
  for (const partition of [0, 1, 2]) finish(partition, 0);
  assert.equal(await committer.commit(), false);
  assert.deepEqual(failed, ['a commit: UNKNOWN_SERVER_ERROR']);
  assert.deepEqual(
    owned.map(({ account }) => account?.committed),
    [1, undefined, 1],
  );
  errors.clear();
  assert.equal(await committer.commit(), true);
  assert.deepEqual(commits()[1], [[1, 1]]);
});

test('what can never be committed from here is not waited for, and said', async () => {
  const { committer, finish, errors, failed } = scene(2);
  errors.set(1, 'UNKNOWN_TOPIC_OR_PARTITION');
  for (const partition of [0, 1]) finish(partition, 0);
  assert.equal(await committer.commit(), true);
  assert.deepEqual(failed, ['a commit: UNKNOWN_TOPIC_OR_PARTITION']);
});

test('what has no answer is sent again, with what was finished since', async () => {
  const { committer, commits, finish, whileSending, failed } = scene();
  whileSending(() => Promise.reject(new Error('the connection broke')));
  finish(0, 0);
  assert.equal(await committer.commit(), false);
  assert.deepEqual(failed, ['the connection broke']);
  finish(0, 1);
  whileSending(() => Promise.resolve());
  assert.equal(await committer.commit(), true);
  assert.deepEqual(commits(), [[[0, 1]], [[0, 2]]]);
});

test('what is finished while a commit is under way is not taken for committed', async () => {
  const { committer, commits, finish, whileSending } = scene();
  const answered = Promise.withResolvers<undefined>();
  whileSending(() => answered.promise);
  finish(0, 0);
  const first = committer.commit();
  await new Promise(setImmediate);
  finish(0, 5);
  answered.resolve(undefined);
  await first;
  await committer.commit();
  assert.deepEqual(commits(), [[[0, 1]], [[0, 1]]]);
});

test('a broker that takes less metadata gets the offset alone from then on', async () => {
  const { committer, sent, finish, errors } = scene();
  errors.set(0, 'OFFSET_METADATA_TOO_LARGE');
  finish(0, 0, 5);
  assert.equal(await committer.commit(), false);
  errors.clear();
  assert.equal(await committer.commit(), true);
  finish(0, 7);
  await committer.commit();
  assert.deepEqual(
    sent.map(([commit]) => [commit?.offset, (commit?.metadata.length ?? NaN) > 5]),
    [
      [1, true],
      [1, false],
      [1, false],
    ],
  );
});

test('a partition that somebody else may have gone on with is not committed', async () => {
  const { committer, sent, finish, owned } = scene();
  finish(0, 0);
  for (const each of owned) each.isDoubtful = true;
  assert.equal(await committer.commit(), true);
  assert.deepEqual(sent, []);
});

test('commits that Kafka’s ACLs refuse are sent again with growing pauses, and soon again when they may', async () => {
  const { committer, clock, sent, errors, finish } = scene();
  errors.set(0, 'GROUP_AUTHORIZATION_FAILED');
  finish(0, 0);
  committer.soon();
  await clock.pass(10_000);
  // After 0.2, 1.2, 3.2 and 7.2 s.
  assert.equal(sent.length, 4);
  errors.clear();
  await clock.pass(8_000);
  assert.equal(sent.length, 5);
  finish(0, 1);
  await clock.pass(200);
  assert.equal(sent.length, 6);
  committer.stop();
});
