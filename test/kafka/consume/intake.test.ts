import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KafkajsModel, topic } from '../kafkajs-model.ts';

/** A member that owns partition 0, which holds `count` records. */
async function joined(count: number, windowRecords?: number): Promise<KafkajsModel> {
  const model = new KafkajsModel(2, windowRecords);
  append(model, count);
  model.join([0]);
  await model.settle();
  return model;
}

function append(model: KafkajsModel, count: number): void {
  for (let i = 0; i < count; i += 1) model.log(0).append();
}

/** Reads so many records and commits them. */
async function readAndCommit(model: KafkajsModel, count: number): Promise<void> {
  read(model, count);
  finishAll(model);
  await model.committer.commit();
}

function read(model: KafkajsModel, count: number): void {
  model.fetch(0, count);
  model.handle();
}

function offsetsOf(model: KafkajsModel): number[] {
  return model.received.map(({ offset }) => offset);
}

function finishAll(model: KafkajsModel): void {
  for (const record of model.received) record.finish();
}

test('a group without commits begins at the earliest offset', async () => {
  const model = new KafkajsModel(1);
  append(model, 4);
  model.log(0).retainFrom(2);
  model.join([0]);
  await model.settle();
  read(model, 10);
  assert.deepEqual(offsetsOf(model), [2, 3]);
});

test('nothing is fetched between a join and the moment when the positions are known', async () => {
  const model = new KafkajsModel(1);
  model.log(0).append();
  model.join([0]);
  assert.ok(model.paused.has(0));
  read(model, 10);
  assert.deepEqual(offsetsOf(model), []);
  await model.settle();
  read(model, 10);
  assert.deepEqual(offsetsOf(model), [0]);
});

test('a batch fetched before a rebalance is dropped, and no record is skipped', async () => {
  const model = await joined(6);
  await readAndCommit(model, 2);
  // Offsets 2 and 3 wait in kafkajs's queue while somebody else moves the group back to 1.
  model.fetch(0, 2);
  model.log(0).committed = 1;
  model.join([0]);
  await model.settle();
  model.handle();
  assert.deepEqual(offsetsOf(model), [0, 1]);
  read(model, 10);
  assert.deepEqual(offsetsOf(model), [0, 1, 1, 2, 3, 4, 5]);
});

test('a retained partition goes on behind what is in flight, without repeats', async () => {
  const model = await joined(6);
  read(model, 3);
  await model.committer.commit();
  model.join([0]);
  await model.settle();
  read(model, 10);
  assert.deepEqual(offsetsOf(model), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(model.lost, []);
});

test('when somebody else moved the committed offset, it wins and queued work is dropped', async () => {
  const model = await joined(6);
  read(model, 3);
  await model.committer.commit();
  model.log(0).committed = 5;
  model.join([0]);
  await model.settle();
  assert.deepEqual(model.lost, [0]);
  finishAll(model);
  await model.committer.commit();
  assert.equal(model.log(0).committed, 5);
  read(model, 10);
  assert.deepEqual(offsetsOf(model), [0, 1, 2, 5]);
});

test('a topic that was made again is read from its beginning, after a rejoin', async () => {
  const model = await joined(5);
  await readAndCommit(model, 5);
  model.log(0).makeAgain();
  append(model, 9);
  model.join([0]);
  await model.settle();
  read(model, 20);
  assert.deepEqual(offsetsOf(model).slice(5), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test('a topic that was made again before anything was finished is read from its beginning', async () => {
  const model = await joined(5);
  await model.committer.commit();
  read(model, 5);
  model.log(0).makeAgain();
  append(model, 9);
  model.join([0]);
  await model.settle();
  read(model, 20);
  assert.deepEqual(offsetsOf(model).slice(5), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test('a topic that was made again without a rejoin is noticed because the position is out of range', async () => {
  const model = await joined(5);
  await readAndCommit(model, 5);
  model.log(0).makeAgain();
  append(model, 3);
  model.fetch(0, 10);
  read(model, 10);
  await model.settle();
  read(model, 10);
  assert.deepEqual(offsetsOf(model).slice(5), [0, 1, 2]);
  assert.equal(model.dropped, 1);
});

test('a topic that was made again and filled between two fetches is noticed at the next commit', async () => {
  const model = await joined(5);
  await readAndCommit(model, 5);
  model.log(0).makeAgain();
  append(model, 9);
  // kafkajs reads on at 5, where the new topic has records too.
  read(model, 20);
  assert.deepEqual(offsetsOf(model).slice(5), [5, 6, 7, 8]);
  finishAll(model);
  await model.committer.commitWhatIsOurs();
  await model.settle();
  read(model, 20);
  assert.deepEqual(offsetsOf(model).slice(9), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test('a regular commit leaves alone what somebody else has moved', async () => {
  const model = await joined(6);
  read(model, 3);
  await model.committer.commit();
  model.log(0).committed = 5;
  finishAll(model);
  await model.committer.commitWhatIsOurs();
  await model.settle();
  assert.equal(model.log(0).committed, 5);
  read(model, 10);
  assert.deepEqual(offsetsOf(model), [0, 1, 2, 5]);
});

test('a paused partition of a topic that was made again goes back to the beginning', async () => {
  const model = await joined(5);
  await readAndCommit(model, 5);
  model.intake.hold({ topic, partition: 0 }, true);
  model.log(0).makeAgain();
  append(model, 3);
  await model.intake.refresh(topic, () => model.ranges());
  await model.settle();
  append(model, 9);
  model.intake.hold({ topic, partition: 0 }, false);
  read(model, 20);
  assert.deepEqual(offsetsOf(model).slice(5, 8), [0, 1, 2]);
});

test('records that retention removed before they were read are skipped', async () => {
  const model = await joined(8);
  read(model, 2);
  model.log(0).retainFrom(5);
  model.fetch(0, 10);
  read(model, 10);
  await model.settle();
  read(model, 10);
  assert.deepEqual(offsetsOf(model), [0, 1, 5, 6, 7]);
  // Those in flight will not come again, so nobody is told to drop them.
  assert.deepEqual(model.lost, []);
});

test('after a reset the position is committed, and not taken for another reset', async () => {
  const model = await joined(8);
  model.log(0).retainFrom(5);
  model.fetch(0, 10);
  assert.equal(model.log(0).committed, -2);
  read(model, 10);
  await model.settle();
  assert.equal(model.log(0).committed, 5);
  read(model, 10);
  finishAll(model);
  await model.committer.commitWhatIsOurs();
  await model.settle();
  read(model, 10);
  assert.equal(model.log(0).committed, 8);
  assert.deepEqual(offsetsOf(model), [5, 6, 7]);
});

test('the committed prefix moves past markers and aborted records', async () => {
  const model = await joined(1);
  model.log(0).append(true);
  await readAndCommit(model, 2);
  assert.equal(model.log(0).committed, 2);
  model.log(0).append(true);
  model.log(0).append(true);
  read(model, 10);
  await model.committer.commit();
  assert.equal(model.log(0).committed, 4);
});

test('markers fetched before a rebalance do not move the new position', async () => {
  const model = await joined(3);
  for (let i = 0; i < 3; i += 1) model.log(0).append(true);
  model.log(0).append();
  await readAndCommit(model, 3);
  model.fetch(0, 3);
  model.log(0).committed = 1;
  model.join([0]);
  await model.settle();
  model.handle();
  await model.settle();
  read(model, 10);
  assert.deepEqual(offsetsOf(model), [0, 1, 2, 1, 2, 6]);
});

test('markers fetched before a rebalance that reach past the new position are taken as they are', async () => {
  const model = await joined(0);
  for (let i = 0; i < 3; i += 1) model.log(0).append(true);
  model.log(0).append();
  await model.committer.commit();
  model.fetch(0, 3);
  model.join([0]);
  await model.settle();
  model.handle();
  read(model, 10);
  assert.deepEqual(offsetsOf(model), [3]);
  assert.equal(model.dropped, 0);
});

test('markers that wait while the topic is found to be made again do not move the new position', async () => {
  const model = await joined(4);
  model.log(0).append(true);
  read(model, 4);
  await model.committer.commit();
  finishAll(model);
  model.fetch(0, 1);
  model.log(0).makeAgain();
  append(model, 9);
  await model.committer.commitWhatIsOurs();
  await model.settle();
  model.handle();
  read(model, 20);
  assert.deepEqual(offsetsOf(model).slice(4), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test('nothing is committed between a join and the moment when the positions are known', async () => {
  const model = await joined(6);
  read(model, 3);
  finishAll(model);
  model.log(0).committed = 5;
  model.join([0]);
  await model.committer.commit();
  assert.equal(model.log(0).committed, 5);
});

test('what was looked up for a join is void after the next one', async () => {
  const model = new KafkajsModel(1);
  append(model, 5);
  model.join([0]);
  model.log(0).committed = 3;
  model.join([0]);
  await model.settle();
  assert.deepEqual(model.lost, []);
  read(model, 10);
  assert.deepEqual(offsetsOf(model), [3, 4]);
});

test('a commit that is answered after its account was replaced is not taken for the new one', async () => {
  const model = await joined(6);
  model.log(0).committed = 1;
  model.join([0]);
  await model.settle();
  model.committer.committed([{ topic, partition: 0, offset: 4 }]);
  model.log(0).committed = 4;
  model.join([0]);
  await model.settle();
  read(model, 10);
  assert.deepEqual(offsetsOf(model), [4, 5]);
});

test('a lost partition is forgotten: its batches, its finished records and its pause', async () => {
  const model = await joined(6, 2);
  read(model, 2);
  assert.ok(model.paused.has(0));
  model.join([1]);
  await model.settle();
  assert.deepEqual(model.lost, [0]);
  assert.ok(!model.paused.has(0));
  finishAll(model);
  await model.committer.commit();
  assert.equal(model.log(0).committed, 0);
  model.join([0, 1]);
  await model.settle();
  read(model, 2);
  assert.deepEqual(offsetsOf(model), [0, 1, 0, 1]);
});

test('a batch of a partition that is not assigned is ignored', async () => {
  const model = await joined(6);
  model.fetch(0, 2);
  model.join([1]);
  await model.settle();
  model.handle();
  assert.deepEqual(offsetsOf(model), []);
});

test('a full window pauses its partition until half of it is finished', async () => {
  const model = await joined(8, 4);
  read(model, 4);
  assert.ok(model.paused.has(0));
  model.received[0]?.finish();
  assert.ok(model.paused.has(0));
  model.received[1]?.finish();
  assert.ok(!model.paused.has(0));
});

test('a window that is full stays paused over a rebalance, and one that emptied meanwhile does not', async () => {
  const model = await joined(8, 4);
  read(model, 4);
  await model.committer.commit();
  model.join([0]);
  await model.settle();
  assert.ok(model.paused.has(0));
  model.join([0]);
  finishAll(model);
  await model.settle();
  assert.ok(!model.paused.has(0));
});

test('a partition that the stage paused stays paused over a rebalance until the stage resumes it', async () => {
  const model = await joined(2);
  model.intake.hold({ topic, partition: 0 }, true);
  await model.committer.commit();
  model.join([0]);
  await model.settle();
  assert.ok(model.paused.has(0));
  model.intake.hold({ topic, partition: 0 }, false);
  assert.ok(!model.paused.has(0));
});

test('closing accepts nothing more and waits for what is in flight', async () => {
  const model = await joined(4);
  read(model, 2);
  let isClosed = false;
  const closing = model.intake.close().then(() => {
    isClosed = true;
  });
  assert.ok(model.paused.has(0));
  model.received[0]?.finish();
  await model.settle();
  assert.equal(isClosed, false);
  model.received[1]?.finish();
  await closing;
});

test('the lag counts what is in flight, and what came while the partition was paused', async () => {
  const model = await joined(4);
  read(model, 2);
  await model.intake.refresh(topic, () => model.ranges());
  const [partition] = model.intake.owned();
  assert.equal(partition?.lag, 4);
  model.received[0]?.finish();
  assert.equal(partition.lag, 3);
});
