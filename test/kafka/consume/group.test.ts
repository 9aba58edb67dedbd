import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GroupModel, type ModelMember } from './group-model.ts';

/** The member that was made last. */
async function joined(model: GroupModel): Promise<ModelMember> {
  model.join();
  await model.settle();
  return model.member(-1);
}

/** One that owns partition 0, which holds `count` records, and knows where to read it on. */
async function reading(
  count: number,
  windowRecords: number = 1_000,
): Promise<{ model: GroupModel; member: ModelMember }> {
  const model = new GroupModel(1, windowRecords);
  if (count > 0) model.append(0, count);
  const member = await joined(model);
  await member.answer();
  await model.settle();
  return { model, member };
}

const all = 1_000;

test('a group without commits begins at the earliest offset', async () => {
  const model = new GroupModel(1, 100);
  model.append(0, 4);
  model.removeBefore(0, 2);
  const member = await joined(model);
  await member.answer();
  await model.settle();
  member.fetch(0, all);
  assert.deepEqual(member.received, [2, 3]);
  assert.equal(member.gone, 0);
});

test('nothing is read between a join and the moment when the positions are known', async () => {
  const model = new GroupModel(1, 100);
  model.append(0, 1);
  const member = await joined(model);
  member.fetch(0, all);
  assert.deepEqual([member.received, member.intake.isJoined], [[], false]);
  await member.answer();
  await model.settle();
  member.fetch(0, all);
  assert.deepEqual([member.received, member.intake.isJoined], [[0], true]);
  assert.deepEqual(member.told, ['assigned 0']);
});

test('a partition that stays is read on while the group rebalances, without repeats', async () => {
  const { model, member } = await reading(6);
  member.fetch(0, 3);
  model.rebalance();
  member.fetch(0, all);
  assert.deepEqual(member.received, [0, 1, 2, 3, 4, 5]);
  await model.settle();
  assert.deepEqual(member.told, ['assigned 0', 'assigned 0']);
});

test('a partition that moves is let go of in order, and its next owner repeats nothing that is finished', async () => {
  const model = new GroupModel(2, 100);
  model.append(1, 6);
  const first = await joined(model);
  await first.answer();
  await model.settle();
  first.fetch(1, 6);
  // The oldest is still under way when the partition is to move, two wait, the others are finished.
  const [oldest, ...rest] = first.inFlight;
  first.inFlight = rest.slice(2);
  first.finish(3);
  first.inFlight = [oldest, ...rest.slice(0, 2)].filter((each) => each !== undefined);

  const second = await joined(model);
  assert.deepEqual(first.told.slice(1), ['revoked 1', 'assigned 0']);
  assert.deepEqual(second.told, ['assigned ']);
  assert.deepEqual(
    first.inFlight.map(({ offset }) => offset),
    [0, 2],
  );
  first.finish(1);
  await model.settle();
  assert.deepEqual(first.told.slice(3), []);
  first.finish(1);
  await model.settle();
  assert.deepEqual(first.told.slice(3), ['commit', 'lost 1', 'assigned 0']);

  await second.answer();
  await model.settle();
  second.fetch(1, all);
  assert.deepEqual(second.told.at(-1), 'assigned 1');
  assert.deepEqual(second.received, [1]);
  assert.equal(model.repeats, 0);
});

test('a member that was gone for a while keeps what is in flight if nobody read its partition meanwhile', async () => {
  const { model, member } = await reading(6);
  member.fetch(0, 4);
  member.finish(1);
  await member.committer.commit();
  model.expel(member);
  model.notice(member);
  await model.settle();
  member.finish(1);
  await member.answer();
  await model.settle();
  member.fetch(0, all);
  assert.deepEqual(member.received, [0, 1, 2, 3, 4, 5]);
  assert.equal(member.told.includes('lost 0'), false);
  await member.committer.commit();
  assert.equal(model.committedAt(0), 2);
});

test('it keeps it also where the oldest record of all is still in flight', async () => {
  const { model, member } = await reading(6);
  member.fetch(0, 4);
  await member.committer.commit();
  assert.equal(model.committedAt(0), 0);
  model.expel(member);
  model.notice(member);
  await model.settle();
  await member.answer();
  await model.settle();
  member.fetch(0, all);
  assert.deepEqual(member.received, [0, 1, 2, 3, 4, 5]);
  assert.equal(member.told.includes('lost 0'), false);
});

test('it drops what is in flight if somebody did, and goes on where that one committed', async () => {
  const { model, member } = await reading(6);
  member.fetch(0, 3);
  const other = await expelledFor(model, member, 5);
  model.die(other);
  model.notice(member);
  await model.settle();
  await member.answer();
  await model.settle();
  assert.deepEqual(member.told.slice(-3), ['revoked 0', 'lost 0', 'assigned 0']);
  member.fetch(0, all);
  assert.deepEqual(member.received, [0, 1, 2, 5]);
});

test('a member that was gone commits nothing before it knows what happened meanwhile', async () => {
  const { model, member } = await reading(6);
  member.fetch(0, 3);
  const other = await expelledFor(model, member, 5);
  model.die(other);
  model.notice(member);
  await model.settle();
  member.finish(2);
  await member.committer.commit();
  assert.equal(model.committedAt(0), 5);
});

/** Another member has read and committed so many records meanwhile. */
async function expelledFor(model: GroupModel, member: ModelMember, count: number) {
  const other = await joined(model);
  model.expel(member);
  await other.answer();
  await model.settle();
  other.fetch(0, count);
  other.finish(count);
  await other.committer.commit();
  assert.equal(other.received.length, count);
  return other;
}

test('a commit whose answer was lost may have arrived', async () => {
  const { model, member } = await reading(6);
  member.fetch(0, 3);
  member.finish(2);
  model.isAnswerLost = true;
  assert.equal(await member.committer.commit(), false);
  model.isAnswerLost = false;
  model.expel(member);
  model.notice(member);
  await member.answer();
  await model.settle();
  member.fetch(0, all);
  assert.deepEqual(member.received, [0, 1, 2, 3, 4, 5]);
});

test('what a member that was gone has not found its place in yet is claimed from nobody', async () => {
  const model = new GroupModel(2, 100);
  const member = await joined(model);
  await member.answer();
  await model.settle();
  model.expel(member);
  model.notice(member);
  await model.settle();
  await joined(model);
  assert.deepEqual(model.owners(), [1, 1]);
});

test('what was looked up for a join is void after the next one', async () => {
  const { model, member } = await reading(6);
  model.expel(member);
  model.notice(member);
  await model.settle();
  // The question is on its way while the group goes on without this member once more.
  const early = member.ask();
  const other = await expelledFor(model, member, 5);
  model.die(other);
  model.notice(member);
  await model.settle();
  for (let times = 0; times < 2; times += 1) await member.answer();
  await model.settle();
  early();
  await model.settle();
  member.fetch(0, all);
  assert.deepEqual(member.received, [5]);
});

test('a commit that is answered after its account was replaced is not taken for the new one', async () => {
  const { model, member } = await reading(6);
  member.fetch(0, 3);
  member.finish(1);
  model.isLate = member;
  const committed = member.committer.commit();
  const other = await expelledFor(model, member, 5);
  model.die(other);
  model.notice(member);
  await model.settle();
  await member.answer();
  await model.settle();
  model.answerCommits();
  await committed;
  assert.equal(await member.committer.commit(), true);
  model.append(0, 2);
  member.fetch(0, all);
  member.finish(all);
  await member.committer.commit();
  assert.deepEqual([model.committedAt(0), model.stepsBack], [8, 0]);
});

test('records that were removed before they were read are left out, told, and none in flight is dropped', async () => {
  const { model, member } = await reading(2);
  member.fetch(0, all);
  for (let times = 0; times < 2; times += 1) model.append(0, 3);
  model.removeBefore(0, 5);
  for (let times = 0; times < 2; times += 1) member.fetch(0, all);
  assert.equal(member.gone, 3);
  member.fetch(0, all);
  assert.deepEqual(member.received, [0, 1, 5, 6, 7]);
  assert.deepEqual(member.told, ['assigned 0']);
});

test('behind what was removed it is committed, although nothing follows', async () => {
  const { model, member } = await reading(0);
  for (const count of [2, 3]) model.append(0, count);
  model.removeBefore(0, 5);
  member.fetch(0, all);
  await member.committer.commit();
  assert.deepEqual([member.gone, model.committedAt(0)], [5, 5]);
});

test('where a log was cut off, what was written instead is read, and commits go back to there', async () => {
  const { model, member } = await reading(3);
  model.append(0, 3);
  member.fetch(0, all);
  member.finish(6);
  await member.committer.commit();
  model.cutOff(0, 1);
  model.append(0, 2);
  member.fetch(0, all);
  await member.committer.commit();
  assert.equal(model.committedAt(0), 3);
  member.fetch(0, all);
  assert.deepEqual(member.received, [0, 1, 2, 3, 4, 5, 3, 4]);
});

test('what a former owner finished in a part of the log that was cut off says nothing of what is there now', async () => {
  const { model, member } = await reading(1);
  model.append(0, 3);
  member.fetch(0, all);
  const [unfinished, ...others] = member.inFlight;
  member.inFlight = others;
  member.finish(all);
  assert.equal(unfinished?.offset, 0);
  await member.committer.commit();
  model.die(member);
  model.cutOff(0, 1);
  model.append(0, 3);
  const next = await joined(model);
  await next.answer();
  await model.settle();
  for (let times = 0; times < 3; times += 1) next.fetch(0, all);
  assert.deepEqual(next.received, [0, 1, 2, 3]);
});

test('the committed prefix moves past markers and aborted records', async () => {
  const { model, member } = await reading(1);
  model.logs[0]?.appendMarker();
  member.fetch(0, all);
  member.finish(all);
  await member.committer.commit();
  assert.equal(model.committedAt(0), 2);
  model.logs[0]?.appendMarker();
  model.logs[0]?.appendMarker();
  member.fetch(0, all);
  await member.committer.commit();
  assert.equal(model.committedAt(0), 4);
});

test('a full window pauses its partition until half of it is finished', async () => {
  const { member } = await reading(8, 4);
  member.fetch(0, 4);
  const [cursor] = member.cursors;
  assert.equal(cursor?.isPaused, true);
  member.finish(1);
  assert.equal(cursor.isPaused, true);
  member.finish(1);
  assert.equal(cursor.isPaused, false);
});

test('a member whose session is over by its own clock takes in nothing, and goes on where it was if it was not', async () => {
  const { member } = await reading(4);
  member.fetch(0, 2);
  member.intake.unheard(true);
  member.fetch(0, all);
  assert.deepEqual(member.received, [0, 1]);
  member.intake.unheard(false);
  member.fetch(0, all);
  assert.deepEqual(member.received, [0, 1, 2, 3]);
});

test('a partition that comes back brings what was not finished here', async () => {
  const { model, member } = await reading(6, 3);
  member.fetch(0, 3);
  const former = [...member.inFlight];
  model.expel(member);
  const other = await joined(model);
  member.intake.assigned([], false);
  assert.deepEqual(member.told.slice(1, 3), ['revoked 0', 'lost 0']);
  for (const record of [former[0], former[2]]) record?.finish();
  model.die(other);
  model.notice(member);
  await model.settle();
  await member.answer();
  await model.settle();
  member.fetch(0, 6);
  // As much as a window holds.
  assert.deepEqual(member.received, [0, 1, 2, 1, 3, 4]);
});

test('closing takes in nothing more, revokes, and waits for what is under way; then all is lost', async () => {
  const { model, member } = await reading(4);
  member.fetch(0, 2);
  const before = member.told.length;
  let isClosed = false;
  const closing = member.intake.close().then(() => {
    isClosed = true;
  });
  member.fetch(0, 2);
  await model.settle();
  assert.deepEqual([member.received, isClosed], [[0, 1], false]);
  member.finish(1);
  await closing;
  member.intake.end();
  assert.deepEqual(member.told.slice(before), ['revoked 0', 'lost 0']);
});

test('the lag counts what is in flight', async () => {
  const { member } = await reading(4);
  const [partition] = member.intake.owned();
  assert.equal(partition?.lag, 0);
  member.fetch(0, 2);
  const [cursor] = member.cursors;
  if (cursor !== undefined) member.intake.highWatermark(cursor, 9);
  assert.equal(partition.lag, 9);
  member.finish(1);
  assert.equal(partition.lag, 8);
});
