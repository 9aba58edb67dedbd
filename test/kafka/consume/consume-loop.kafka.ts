import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { Coordinator } from '../../../src/kafka/consume/coordinator.ts';
import { eventually } from '../../harness/eventually.ts';
import { FakeLogger } from '../fake-logger.ts';
import { numbers, Scene, type Member } from '../kafka-scene.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await Scene.open();
});
afterEach(async () => {
  await scene.close();
});

async function until(member: Member, count: number): Promise<void> {
  await eventually(() => {
    assert.ok(member.received.length >= count, `${member.received.length} of ${count}`);
  });
}

async function untilJoined(...members: Member[]): Promise<void> {
  await eventually(() => {
    for (const { loop } of members) {
      assert.ok(loop.joined);
      assert.ok(loop.assigned().length > 0);
    }
  });
}

test('a member that stops commits what is finished, and the next one begins there', async () => {
  const topic = await scene.createTopic('calls', 3);
  await scene.write(topic, 3, 30);
  const first = await scene.member([topic]);
  await until(first, 30);
  assert.deepEqual(first.values(), numbers(30));
  for (const record of first.received.filter(({ offset }) => offset < 5)) record.finish();
  await first.loop.stop(0);
  assert.deepEqual(await scene.committed(topic), [5, 5, 5]);
  const second = await scene.member([topic]);
  await until(second, 15);
  assert.deepEqual(second.values(), numbers(15, 15));
});

test('the finished prefix is committed while the member runs, and the lag goes to zero', async () => {
  const topic = await scene.createTopic('calls', 2);
  await scene.write(topic, 2, 10);
  const member = await scene.member([topic]);
  await until(member, 10);
  await eventually(() => {
    assert.deepEqual(
      member.loop.lag().map(({ records }) => records),
      [5, 5],
    );
  });
  member.finishAll();
  await eventually(async () => {
    assert.deepEqual(await scene.committed(topic), [5, 5]);
  });
  assert.deepEqual(
    member.loop.lag().map(({ records }) => records),
    [0, 0],
  );
});

test('stopping waits for what is in flight and commits it', async () => {
  const topic = await scene.createTopic('calls', 1);
  await scene.write(topic, 1, 10);
  const member = await scene.member([topic]);
  await until(member, 10);
  const stopped = member.loop.stop(20_000);
  member.finishAll();
  await stopped;
  assert.deepEqual(await scene.committed(topic), [10]);
});

test('partition i of all topics is in one member, and a retained one goes on without repeats', async () => {
  const fresh = await scene.createTopic('fresh', 4);
  const retry = await scene.createTopic('retry', 4);
  await scene.write(fresh, 4, 40);
  const first = await scene.member([fresh, retry]);
  first.releases = true;
  await until(first, 40);
  const second = await scene.member([fresh, retry]);
  await untilJoined(first, second);
  await eventually(() => {
    assert.equal(first.owns().length, 4);
    assert.equal(second.owns().length, 4);
  });
  for (const { loop } of [first, second]) {
    const indices = (topic: string) =>
      loop.assigned().flatMap((each) => (each.topic === topic ? [each.partition] : []));
    assert.deepEqual(indices(fresh), indices(retry));
  }
  // What the first one released is read again by the second one.
  await until(second, 20);
  await scene.write(fresh, 4, 40, 40);
  await until(first, 60);
  await until(second, 40);
  assert.equal(first.received.length, 60);
  assert.equal(new Set(first.values()).size, 60);
  assert.equal(new Set(second.values()).size, 40);
  assert.equal(first.lost.length, 4);
});

test('what is finished when a partition moves is committed with it and not repeated', async () => {
  const topic = await scene.createTopic('calls', 2);
  await scene.write(topic, 2, 200);
  // The regular commit is too late for what is finished in the moment of the rebalance.
  const first = await scene.member([topic], { clock: stoppedClock });
  first.releases = true;
  await until(first, 200);
  // Of each partition the oldest is not finished, and one in the middle.
  const unfinished = [0, 50];
  for (const record of first.received) if (!unfinished.includes(record.offset)) record.finish();
  const second = await scene.member([topic]);
  await untilJoined(first, second);
  await until(second, 2);
  await scene.write(topic, 2, 2, 200);
  await until(second, 3);
  assert.deepEqual(
    second.received.map(({ offset }) => offset),
    [...unfinished, 100],
  );
});

test('as much of what is finished out of order is committed as a broker takes, and the rest is read again', async () => {
  const topic = await scene.createTopic('calls', 1);
  const count = 9_000;
  await scene.write(topic, 1, count);
  const first = await scene.member([topic]);
  await until(first, count);
  for (const record of first.received) if (record.offset % 2 === 1) record.finish();
  await first.loop.stop(0);
  assert.deepEqual(await scene.committed(topic), [0]);
  const second = await scene.member([topic]);
  await until(second, 5_000);
  await eventually(() => {
    assert.equal(second.received.at(-1)?.offset, count - 1);
  });
  const again = second.received.filter(({ offset }) => offset % 2 === 1);
  // Three thousand gaps fit, of two offsets each.
  assert.deepEqual(again[0]?.offset, 6_001);
  assert.equal(again.length, 1_500);
});

test('two members that know different topics come to read all of them', async () => {
  const old = await scene.createTopic('old', 2);
  const first = await scene.member([old]);
  await untilJoined(first);
  const added = await scene.createTopic('added', 2);
  const second = await scene.member([old, added]);
  await eventually(() => {
    assert.deepEqual(
      [...first.owns(), ...second.owns()].toSorted(),
      [`${added}/0`, `${added}/1`, `${old}/0`, `${old}/1`].toSorted(),
    );
    for (const { loop } of [first, second]) assert.equal(loop.assigned().length, 2);
  });
  await scene.write(added, 2, 10);
  await eventually(() => {
    assert.deepEqual(
      [...first.values(), ...second.values()].toSorted((a, b) => a - b),
      numbers(10),
    );
  });
});

test('a topic that is deleted and made again while it is consumed is read from its beginning', async () => {
  const topic = await scene.createTopic('calls', 1);
  await scene.write(topic, 1, 20);
  const member = await scene.member([topic]);
  member.finishes = true;
  await until(member, 20);
  await eventually(async () => {
    assert.deepEqual(await scene.committed(topic), [20]);
  });
  await scene.admin.deleteTopics({ topics: [topic] });
  await scene.createTopic('calls', 1);
  await scene.write(topic, 1, 50, 100);
  await eventually(() => {
    assert.deepEqual(member.values(), [...numbers(20), ...numbers(50, 100)]);
  });
});

test('while one of the topics is gone the others are read, and it again when it is back', async () => {
  const stays = await scene.createTopic('stays', 1);
  const goes = await scene.createTopic('goes', 1);
  const member = await scene.member([stays, goes]);
  await untilJoined(member);
  await scene.admin.deleteTopics({ topics: [goes] });
  await eventually(() => {
    assert.deepEqual(member.owns(), [`${stays}/0`]);
  });
  await scene.write(stays, 1, 5);
  await until(member, 5);
  await scene.createTopic('goes', 1);
  await scene.write(goes, 1, 5, 5);
  await until(member, 10);
  assert.deepEqual(member.values(), numbers(10));
});

test('committed offsets move past the markers of transactions and aborted records', async () => {
  const topic = await scene.createTopic('calls', 1);
  const producer = scene.kafka.producer({
    transactionalId: topic,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  scene.onClose(() => producer.disconnect());
  const committed = await producer.transaction();
  await committed.send({ topic, messages: [{ value: '0' }, { value: '1' }] });
  await committed.commit();
  const aborted = await producer.transaction();
  await aborted.send({ topic, messages: [{ value: '2' }] });
  await aborted.abort();
  const member = await scene.member([topic]);
  member.finishes = true;
  await eventually(async () => {
    assert.deepEqual(await scene.committed(topic), [5]);
  });
  assert.deepEqual(member.values(), [0, 1]);
  assert.equal(member.loop.lag()[0]?.records, 0);
});

test('a full window pauses its partition until half of it is finished, and loses nothing', async () => {
  const topic = await scene.createTopic('calls', 2);
  const member = await scene.member([topic], { windowRecords: 10 });
  await untilJoined(member);
  for (let i = 0; i < 20; i += 1) await scene.write(topic, 2, 10, i * 10);
  await until(member, 20);
  let most = 0;
  await eventually(() => {
    most = Math.max(most, member.loop.inFlightRecords);
    for (const record of member.received.slice(0, member.received.length - 1)) record.finish();
    assert.equal(new Set(member.values()).size, 200);
  });
  assert.equal(member.received.length, 200);
});

test('records that are deleted before they are read are counted, and the rest is read and committed', async () => {
  const topic = await scene.createTopic('calls', 1);
  const gone: number[] = [];
  let mayTakeMore = false;
  const member = await scene.member([topic], {
    observer: { recordsGone: (_, records) => gone.push(records) },
    mayTakeMore: () => mayTakeMore,
  });
  member.finishes = true;
  await untilJoined(member);
  await scene.write(topic, 1, 20);
  await scene.admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '12' }] });
  mayTakeMore = true;
  await until(member, 8);
  assert.deepEqual([member.values(), gone], [numbers(8, 12), [12]]);
  await eventually(async () => {
    assert.deepEqual(await scene.committed(topic), [20]);
  });
});

test('a committed offset that the log does not reach is said, and what comes from now on is read: not all of it again', async () => {
  const topic = await scene.createTopic('calls', 2);
  await scene.write(topic, 2, 40);
  await commit(topic, [1_000, 15]);
  const log = new FakeLogger();
  const member = await scene.member([topic], { log });
  member.finishes = true;
  await eventually(() => {
    const [line] = log.lines.filter(({ level }) => level === 'error');
    assert.match(line?.message ?? '', /the log was cut off/);
    assert.deepEqual(line?.fields, { topic, partition: 0, from: 1_000, to: 20 });
  });
  await scene.write(topic, 2, 4, 40);
  await until(member, 9);
  assert.deepEqual(member.values(), [31, 33, 35, 37, 39, ...numbers(4, 40)]);
  await eventually(async () => {
    assert.deepEqual(await scene.committed(topic), [22, 22]);
  });
});

/** As somebody does who is no member, while the group has none. */
async function commit(topic: string, offsets: readonly number[]): Promise<void> {
  const cluster = scene.kafka.openCluster();
  const member = { memberId: '', generation: -1 };
  const commits = offsets.map((offset, partition) => ({ topic, partition, offset, metadata: '' }));
  await eventually(async () => {
    for (const { error } of await new Coordinator(cluster, scene.group).commit(member, commits))
      assert.equal(error, 'NONE');
  });
  cluster.close();
}

const stoppedClock = { now: () => Date.now(), after: () => ({ cancel: () => undefined }) };
