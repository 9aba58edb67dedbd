import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFollower, type FollowerOptions } from '../../../src/kafka/follow/follower.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { eventually } from '../../harness/eventually.ts';
import { FakeKafka, FakeLogger } from '../fake-kafka.ts';

const topic = 'config';

async function start(kafka: FakeKafka, options: Partial<FollowerOptions> = {}) {
  const offsets: number[] = [];
  const log = new FakeLogger();
  const follower = await startFollower(kafka.client, {
    topic,
    clock: systemClock,
    log,
    onRecord: ({ offset }) => {
      offsets.push(offset);
    },
    ...options,
  });
  await eventually(() => {
    assert.ok(kafka.consumers.at(-1)?.runConfig);
  });
  join(kafka);
  return { follower, offsets, log };
}

function join(kafka: FakeKafka): void {
  kafka.consumerNow.emit('GROUP_JOIN', { memberAssignment: { [topic]: [0] } });
}

test('each follower has a group of its own, and deletes it when it stops', async () => {
  const kafka = new FakeKafka([topic]);
  const { follower } = await start(kafka);
  await kafka.consumerNow.handle(0, 3);
  const other = await start(new FakeKafka([topic]));
  const { config, runConfig } = kafka.consumerNow;
  await follower.stop();
  await other.follower.stop();
  assert.match(config.groupId, /^config\.follower-/);
  assert.deepEqual(kafka.groupsDeleted, [config.groupId]);
  assert.equal(runConfig?.autoCommit, false);
});

test('after a rejoin a follower goes on at its own position and ignores what it has read', async () => {
  const kafka = new FakeKafka([topic]);
  const { follower, offsets } = await start(kafka);
  await kafka.consumerNow.handle(0, 3);
  join(kafka);
  assert.equal(kafka.consumerNow.calls.at(-1), 'seek 0 to 3');
  // kafkajs began again all the same.
  await kafka.consumerNow.handle(0, 5);
  assert.deepEqual(offsets, [0, 1, 2, 3, 4]);
  assert.equal(follower.position(), 5);
  await follower.stop();
});

test('after a crash a follower reads on in another group, which no former member holds up', async () => {
  const kafka = new FakeKafka([topic]);
  const { follower, offsets, log } = await start(kafka);
  await kafka.consumerNow.handle(0, 3);
  const first = kafka.consumerNow;
  first.emit('CRASH', { error: new Error('connection lost'), restart: true });
  await eventually(() => {
    assert.equal(kafka.consumers.length, 2);
    assert.ok(kafka.consumerNow.runConfig);
  });
  assert.equal(first.calls.at(-1), 'disconnect');
  assert.notEqual(kafka.consumerNow.config.groupId, first.config.groupId);
  join(kafka);
  assert.equal(kafka.consumerNow.calls.at(-1), 'seek 0 to 3');
  await kafka.consumerNow.handle(3, 1);
  assert.deepEqual(offsets, [0, 1, 2, 3]);
  assert.match(log.visible.join('\n'), /^warn: lost Kafka.*connection lost/);
  await follower.stop();
  assert.equal(kafka.groupsDeleted.length, 2);
});

test('markers move the position, so that a topic that ends in one is read to its end', async () => {
  const kafka = new FakeKafka([topic]);
  kafka.end = 4;
  const { follower } = await start(kafka);
  await kafka.consumerNow.handle(0, 3);
  await kafka.consumerNow.handleMarkers(3, 1);
  await follower.loaded;
  assert.equal(follower.position(), 4);
  await follower.stop();
});

test('a topic that was made again is read from its beginning, and batches of the old one are dropped', async () => {
  const kafka = new FakeKafka([topic]);
  const restarts: number[] = [];
  const { follower, offsets, log } = await start(kafka, {
    onRestart: () => {
      restarts.push(offsets.length);
    },
  });
  await kafka.consumerNow.handle(0, 10);
  kafka.end = 10;
  await follower.caughtUp();
  kafka.end = 2;
  const again = follower.caughtUp();
  await eventually(() => {
    assert.deepEqual(restarts, [10]);
  });
  assert.equal(follower.isFresh(), false);
  assert.ok(kafka.consumerNow.calls.includes('seek 0 to 0'));
  await kafka.consumerNow.handle(10, 3);
  assert.equal(offsets.length, 10);
  await kafka.consumerNow.handle(0, 2);
  await again;
  assert.deepEqual(offsets.slice(10), [0, 1]);
  assert.match(log.visible.join('\n'), /deleted and made again/);
  await follower.stop();
});

test('a topic that was made again and filled at once is noticed, because the broker forgot the mark', async () => {
  const kafka = new FakeKafka([topic]);
  let restarts = 0;
  const { follower, offsets } = await start(kafka, {
    onRestart: () => {
      restarts += 1;
    },
  });
  await kafka.consumerNow.handle(0, 3);
  kafka.end = 3;
  await follower.caughtUp();
  assert.equal(kafka.committed, '0');
  kafka.committed = '-1';
  kafka.end = 8;
  await kafka.consumerNow.handle(3, 5);
  const caughtUp = follower.caughtUp();
  await eventually(() => {
    assert.equal(restarts, 1);
  });
  await kafka.consumerNow.handle(0, 8);
  await caughtUp;
  assert.deepEqual(offsets.slice(8), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.equal(kafka.committed, '0');
  await follower.stop();
});

test('what retention removed before it was read is skipped', async () => {
  const kafka = new FakeKafka([topic]);
  const { follower, offsets } = await start(kafka);
  await kafka.consumerNow.handle(0, 2);
  await kafka.consumerNow.handle(7, 2);
  assert.deepEqual(offsets, [0, 1, 7, 8]);
  await follower.stop();
});

test('who waits for a follower that is stopped is told so', async () => {
  const kafka = new FakeKafka([topic]);
  kafka.end = 5;
  const { follower } = await start(kafka);
  const waiting = assert.rejects(follower.caughtUp(), { code: 'stopped' });
  await follower.stop();
  await waiting;
  await assert.rejects(follower.loaded, { code: 'stopped' });
});

test('a follower is not fresh while the end of the topic cannot be asked for', async () => {
  const kafka = new FakeKafka([topic]);
  let now = 1_000_000;
  const { follower } = await start(kafka, { clock: { ...systemClock, now: () => now } });
  await follower.loaded;
  assert.equal(follower.isFresh(), true);
  kafka.isAway = true;
  now += 2_001;
  assert.equal(follower.isFresh(), false);
  await follower.stop();
});

test('an error of the listener is a crash, not a reason to read again', async () => {
  const kafka = new FakeKafka([topic]);
  const crashes: Error[] = [];
  const { follower } = await start(kafka, {
    onRecord: () => {
      throw new Error('a defect');
    },
    onCrash: (error) => {
      crashes.push(error);
    },
  });
  await kafka.consumerNow.handle(0, 1);
  assert.deepEqual(crashes.map(String), ['Error: a defect']);
  await follower.stop();
});
