import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createKafka } from '../../src/kafka/client.ts';
import { withAdmin } from '../../src/kafka/admin.ts';
import { startConsumeLoop, type ConsumeLoop } from '../../src/kafka/consume/consume-loop.ts';
import { startFollower } from '../../src/kafka/follow/follower.ts';
import { ExclusiveWriter } from '../../src/kafka/produce/exclusive-writer.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { startBrokers, testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { FakeLogger } from './fake-logger.ts';
import { numbers } from './kafka-scene.ts';
import { readAll } from './topics.ts';

/** A broker of its own: killing it must not disturb other tests. */
const cluster = await startBrokers(1);
after(() => cluster.stop());

async function write(topic: string, from: number, count: number): Promise<void> {
  const kafka = createKafka({ brokers: cluster.brokers, clientId: 'writer' }, silentLogger);
  const producer = kafka.producer();
  await producer.connect();
  const messages = numbers(count, from).map((value) => ({ value: String(value) }));
  await producer.send({ topic, messages });
  await producer.disconnect();
}

test('Kafka away at the start and again later: said in lines without stacks, and work resumes by itself', async (t) => {
  const topic = `${testPrefix()}calls`;
  const kafka = createKafka({ brokers: cluster.brokers, clientId: 'test' }, silentLogger);
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false });
  await eventually(() => admin.fetchTopicOffsets(topic));
  await admin.disconnect();
  await write(topic, 0, 10);
  await cluster.kill(1);

  const log = new FakeLogger();
  const values: number[] = [];
  const followed: number[] = [];
  const crashes: Error[] = [];
  const onCrash = (error: Error): void => {
    crashes.push(error);
  };
  const loop = startConsumeLoop(kafka, {
    groupId: `${topic}.group`,
    topics: [topic],
    windowRecords: 100,
    windowBytes: 10_000,
    clock: systemClock,
    log,
    onCrash,
    onRecords: (records) => {
      for (const record of records) {
        values.push(Number(record.value));
        record.finish();
      }
    },
  });
  t.after(() => loop.stop(1_000));
  const follower = startFollower(kafka, {
    topic,
    log,
    onCrash,
    onRecord: ({ value }) => {
      followed.push(Number(value));
    },
  });
  t.after(() => follower.stop());
  await eventually(() => {
    assert.ok(log.visible.some((line) => line.includes('the group cannot be reached')));
    assert.ok(log.visible.some((line) => line.includes('Cannot read topic')));
  });
  await cluster.start(1);
  await eventually(() => {
    assert.deepEqual(values, numbers(10));
    assert.deepEqual(followed, numbers(10));
  }, 60_000);

  await cluster.kill(1);
  await eventually(() => {
    assert.ok(log.visible.some((line) => line.includes('Kafka returns no records')));
    assert.equal(follower.isFresh(), false);
  }, 60_000);
  await cluster.start(1);
  await write(topic, 10, 10);
  await eventually(() => {
    assert.deepEqual(values, numbers(20));
    assert.deepEqual(followed, numbers(20));
    assert.ok(loop.joined);
    assert.ok(follower.isFresh());
  }, 60_000);
  assert.deepEqual(crashes, []);
  assert.doesNotMatch(log.visible.join('\n'), /\\n\s+at /);
});

test('who stops reading while Kafka is away keeps nothing from those who read when it is back', async (t) => {
  const topic = `${testPrefix()}calls`;
  const log = new FakeLogger();
  const kafka = createKafka({ brokers: cluster.brokers, clientId: 'test' }, log);
  await withAdmin(kafka, (admin) =>
    admin.createTopics([{ name: topic, partitions: 2, replicationFactor: 1, config: {} }]),
  );
  let troubles = 0;
  const read = (): ConsumeLoop =>
    startConsumeLoop(kafka, {
      groupId: `${topic}.group`,
      topics: [topic],
      windowRecords: 1,
      windowBytes: 1,
      clock: systemClock,
      log,
      onRecords: () => undefined,
      observer: {
        troubled: () => {
          troubles += 1;
        },
      },
    });
  const former = read();
  await eventually(() => {
    assert.ok(former.joined);
  });
  await cluster.kill(1);
  // It has noticed, and is about to try again.
  await eventually(() => {
    assert.ok(troubles >= 2);
  });
  await former.stop(0);
  await cluster.start(1);
  const next = read();
  t.after(() => next.stop(0));
  await eventually(() => {
    assert.equal(next.assigned().length, 2);
    assert.ok(next.joined);
  });
});

test('the one writer of a topic goes on after an outage, and one that was fenced before stays fenced', async (t) => {
  const topic = `${testPrefix()}config`;
  const kafka = createKafka({ brokers: cluster.brokers, clientId: 'test' }, silentLogger);
  await withAdmin(kafka, (admin) =>
    admin.createTopics([{ name: topic, partitions: 1, replicationFactor: 1, config: {} }]),
  );
  const [former, present] = [1, 2].map(
    () => new ExclusiveWriter(kafka, { topic, transactionalId: `${topic}.writer` }),
  );
  assert.ok(former !== undefined && present !== undefined);
  t.after(() => {
    former.close();
    present.close();
  });
  const one = { key: 'one', value: 'v' };
  await former.claim(undefined);
  await former.append([one]);
  await present.claim(undefined);
  await present.append([one, one]);
  await cluster.kill(1);
  const duringOutage = present.append([one]);
  await cluster.start(1);
  // Whether it arrived is known, or the writer does not go on by itself.
  const end = await duringOutage.catch(() => undefined);
  assert.equal(present.holds, end !== undefined);
  await assert.rejects(
    former.append([one]),
    /another process writes to this topic now|not confirmed/,
  );
  await present.claim(undefined);
  await present.append([one]);
  const values = await readAll(kafka, topic);
  const written = values.filter(({ key }) => String(key) === 'one').length;
  assert.ok(end === undefined ? [4, 5].includes(written) : written === 5, `${written}`);
});
