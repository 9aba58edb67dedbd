import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from '../../harness/fast-check.ts';
import type { PostriderError } from '../../../src/errors.ts';
import { partitionOf } from '../../../src/kafka/produce/partitioner.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { SimulatedClock } from '../../delivery/simulated-clock.ts';
import { eventually } from '../../harness/eventually.ts';
import { WritableCluster } from './writable-cluster.ts';
import { keptLog, numbers, openScene, record, series } from './scene.ts';

/** The stream never ends, whatever its type says. */
const draw = (luck: Iterator<number, unknown>): number => luck.next().value as number;

test('Kafka being away at the start is waited out, and said', async () => {
  const cluster = new WritableCluster();
  const { log, lines } = keptLog();
  cluster.onRefresh = () => {
    const error = Object.assign(new Error('ECONNREFUSED'), { name: 'KafkaJSConnectionError' });
    if (cluster.refreshed.length < 3) throw error;
  };
  const producer = await createProducer(cluster, { log });
  await producer.close(0);
  assert.deepEqual(lines, Array(2).fill('Kafka cannot be reached, trying again: ECONNREFUSED'));
});

test('the waiting for Kafka ends when it is told to, and nothing stays open', async () => {
  const cluster = new WritableCluster();
  const stop = new AbortController();
  cluster.onRefresh = () => {
    stop.abort();
    throw new Error('ECONNREFUSED');
  };
  await assert.rejects(createProducer(cluster, { log: silentLogger, signal: stop.signal }));
  assert.ok(cluster.isClosed);
});

test('one request in flight per partition, in order, each record acknowledged once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.nat(2), fc.nat(3)), { maxLength: 400 }),
      fc.infiniteStream(fc.nat(9)),
      async (given, luck) => {
        const { cluster, producer } = openScene({ partitions: 3 });
        cluster.makeTopic('b', 3);
        cluster.delay = async () => {
          for (let i = draw(luck); i > 0; i -= 1) await setImmediate();
        };
        const acknowledged: number[] = [];
        const expected = new Map(['a', 'b'].map((topic) => [topic, [[], [], []] as string[][]]));
        for (const [i, [topic, partition, gap]] of given.entries()) {
          if (gap === 0) await setImmediate();
          expected.get(topic)?.[partition]?.push(String(i));
          producer.produce(record(topic, String(i), partition), (refused) => {
            assert.equal(refused, undefined);
            acknowledged.push(i);
          });
        }
        await producer.close(30_000);
        for (const [topic, values] of expected) assert.deepEqual(cluster.values(topic), values);
        assert.deepEqual(
          acknowledged.sort((x, y) => x - y),
          given.map((_, i) => i),
        );
        assert.deepEqual([producer.queuedRecords, producer.queuedBytes], [0, 0]);
      },
    ),
    { numRuns: 50 },
  );
});

test('each leader gets one request, and all of them at the same time', async () => {
  const { cluster, producer } = openScene();
  for (const partition of [1, 3]) cluster.log('a', partition).lead(2);
  const all = Promise.withResolvers<undefined>();
  cluster.delay = () => {
    if (cluster.requests.length === 2) all.resolve(undefined);
    return all.promise;
  };
  await producer.send(numbers(0, 8).map((value) => record('a', value, Number(value) % 4)));
  assert.deepEqual(
    cluster.requests.map(({ nodeId, batches }) => [
      nodeId,
      batches.map(({ partition }) => partition),
    ]),
    [
      [1, [0, 2]],
      [2, [1, 3]],
    ],
  );
});

test('records of a key go to one partition, also those that came before it was known which', async () => {
  const { cluster, producer } = openScene();
  const given = series('a', 0, 0, 100).map(({ topic, value }) => ({ topic, key: 'user', value }));
  await producer.send(given.slice(0, 50));
  await producer.send(given.slice(50));
  assert.deepEqual(
    cluster.values('a').filter((values) => values.length > 0),
    [numbers(0, 100)],
  );
});

test('a partition key says where records go, whatever their keys, also in a topic made again with fewer', async () => {
  const { cluster, producer } = openScene();
  const given = numbers(0, 100).map((value) => ({ ...record('a', value), partitionKey: 'big' }));
  await producer.send(given.slice(0, 50));
  const home = partitionOf('big', 4);
  assert.deepEqual(cluster.values('a')[home], numbers(0, 50));
  cluster.makeTopic('a', 2);
  await producer.send(given.slice(50));
  assert.deepEqual(cluster.values('a')[home % 2], numbers(50, 100));
});

test('records wait for a topic that is not there yet, which is said once, and hold up no other', async () => {
  const { log, lines } = keptLog();
  const { cluster, producer } = openScene({ log });
  const waiting = producer.send([record('later', '1'), record('later', '2', 0)]);
  await producer.send([record('a', '3')]);
  await eventually(() => {
    assert.ok(cluster.refreshed.filter((topics) => topics.includes('later')).length > 5);
  });
  cluster.makeTopic('later', 1);
  await waiting;
  assert.deepEqual(cluster.values('later'), [['1', '2']]);
  assert.deepEqual(lines, ['Records wait for topic later: UNKNOWN_TOPIC_OR_PARTITION']);
});

test('a partition that its topic does not have is waited for, which is said', async () => {
  const { log, lines } = keptLog();
  const { cluster, producer } = openScene({ log, partitions: 1 });
  const waiting = producer.send([record('a', '1', 2)]);
  await producer.send([record('a', '2', 0)]);
  assert.deepEqual(cluster.values('a'), [['2']]);
  const topic = cluster.logs.get('a');
  const more = cluster.makeTopic('more', 2);
  topic?.partitions.push(...more);
  await waiting;
  assert.deepEqual(cluster.values('a'), [['2'], [], ['1']]);
  assert.deepEqual(lines, [
    'Kafka did not accept a batch; trying again: UNKNOWN_TOPIC_OR_PARTITION, a has no partition 2',
  ]);
});

test('when a topic is made again with fewer partitions, what was for the others goes to those', async () => {
  const { cluster, producer } = openScene();
  const given = numbers(0, 100).map((value) => record('a', value));
  await producer.send(given.slice(0, 50));
  assert.ok(cluster.values('a').every((values) => values.length > 0));
  cluster.makeTopic('a', 2);
  await producer.send(given.slice(50));
  assert.deepEqual(cluster.values('a').flat().sort(), numbers(50, 100).sort());
  assert.deepEqual([producer.queuedRecords, producer.queuedBytes], [0, 0]);
  assert.equal(await producer.partitionCount('a'), 2);
});

test('when a topic is made again with fewer partitions, what waits behind a request goes to those too', async () => {
  const { cluster, producer } = openScene();
  await producer.partitionCount('a');
  const gone = numbers(0, 100).filter((value) => partitionOf(value, 4) > 1);
  const answer = Promise.withResolvers<undefined>();
  cluster.delay = () => answer.promise;
  const sent = gone.slice(0, 2).map((value) => producer.send([record('a', value)]));
  await eventually(() => {
    assert.equal(cluster.requests.length, 1);
  });
  sent.push(producer.send(gone.slice(2).map((value) => record('a', value))));
  cluster.makeTopic('a', 2);
  answer.resolve(undefined);
  await eventually(() => {
    assert.deepEqual(cluster.values('a').flat().sort(), gone.toSorted());
  });
  await Promise.all(sent);
});

test('a broker that is behind, and knows fewer partitions of the same topic, moves nothing', async () => {
  const { cluster, producer } = openScene();
  await producer.send([record('a', '0', 3)]);
  const topic = cluster.logs.get('a');
  assert.ok(topic !== undefined);
  const all = topic.partitions;
  cluster.log('a', 3).lead(2);
  topic.partitions = all.slice(0, 2);
  const waiting = producer.send(numbers(1, 50).map((value) => record('a', value)));
  await eventually(() => {
    assert.ok(cluster.refreshed.length > 5);
  });
  topic.partitions = all;
  await waiting;
  assert.ok(cluster.log('a', 3).values.length > 1);
});

test('requests for other partitions do not wait for one that takes long', async () => {
  const { cluster, producer } = openScene();
  const slow = Promise.withResolvers<undefined>();
  cluster.delay = ({ batches }) =>
    batches.some(({ partition }) => partition === 0) ? slow.promise : setImmediate();
  const first = producer.send([record('a', 'slow', 0)]);
  await eventually(() => {
    assert.equal(cluster.requests.length, 1);
  });
  await producer.send([record('a', 'quick', 1)]);
  slow.resolve(undefined);
  await first;
});

test('records that come while a request is on its way go together in the next', async () => {
  const { cluster, producer } = openScene();
  await producer.send([record('a', 'first', 0)]);
  await producer.send(numbers(0, 300).map((value) => record('a', value, Number(value) % 3)));
  assert.equal(cluster.requests.length, 2);
});

test('records that may wait go together, a fifth of a second later, and hold up no others', async () => {
  const clock = new SimulatedClock();
  const { cluster, producer } = openScene({ clock });
  cluster.makeTopic('later', 2);
  await Promise.all(['a', 'later'].map((topic) => producer.partitionCount(topic)));
  const patient = (value: string, partition: number): OutgoingRecord => ({
    ...record('later', value, partition),
    mayWait: true,
  });
  const first = producer.send([patient('1', 0), patient('2', 1)]);
  await clock.pass(100);
  const second = producer.send([patient('3', 1)]);
  await producer.send([record('a', '4', 0)]);
  assert.deepEqual(cluster.values('later'), [[], []]);
  await clock.pass(100);
  await Promise.all([first, second]);
  assert.equal(cluster.requests.length, 2);
  assert.deepEqual(cluster.values('later'), [['1'], ['2', '3']]);
});

test('a record that may not wait takes those along that do, of its partition alone', async () => {
  const clock = new SimulatedClock();
  const { cluster, producer } = openScene({ clock });
  await producer.partitionCount('a');
  const patient = (value: string, partition: number): OutgoingRecord => ({
    ...record('a', value, partition),
    mayWait: true,
  });
  const waiting = producer.send([patient('1', 0), patient('2', 1)]);
  await producer.send([record('a', '3', 0)]);
  assert.deepEqual(cluster.values('a'), [['1', '3'], [], [], []]);
  const later = producer.send([patient('4', 0)]);
  await clock.pass(200);
  await Promise.all([waiting, later]);
  assert.deepEqual(cluster.values('a'), [['1', '3', '4'], ['2'], [], []]);
  assert.equal(cluster.requests.length, 2);
});

test('behind a request that is on its way, one record that may not wait makes the next one prompt', async () => {
  const clock = new SimulatedClock();
  const { cluster, producer } = openScene({ clock });
  await producer.partitionCount('a');
  const answer = Promise.withResolvers<undefined>();
  cluster.delay = () => answer.promise;
  const first = producer.send([record('a', '1', 0)]);
  await eventually(() => {
    assert.equal(cluster.requests.length, 1);
  });
  const behind = producer.send([{ ...record('a', '2', 0), mayWait: true }, record('a', '3', 0)]);
  answer.resolve(undefined);
  await first;
  // The pace between two requests, which is far below the patience of a fifth of a second.
  await clock.pass(25);
  await behind;
  assert.deepEqual(cluster.values('a')[0], ['1', '2', '3']);
});

test('enough records that may wait do not', async () => {
  const { cluster, producer } = openScene({ clock: new SimulatedClock() });
  const given = numbers(0, 1_000).map((value) => record('a', value, Number(value) % 4));
  await producer.send(given.map((each) => ({ ...each, mayWait: true })));
  assert.equal(cluster.requests.length, 1);
});

test('many records go in several requests, none of them too large to let other work in', async () => {
  const { cluster, producer } = openScene();
  await producer.send(numbers(0, 10_000).map((value) => record('a', value, Number(value) % 4)));
  for (const { batches } of cluster.requests)
    assert.ok(batches.reduce((sum, { values }) => sum + values.length, 0) <= 1_500);
  assert.ok(cluster.requests.length <= 20, `${cluster.requests.length} requests`);
});

test('a record given from within an acknowledgement is written too', async () => {
  const { cluster, producer } = openScene();
  await new Promise<void>((resolve) => {
    producer.produce(record('a', 'first', 0), () => {
      producer.produce(record('a', 'second', 0), () => {
        resolve();
      });
    });
  });
  assert.deepEqual(cluster.log('a', 0).values, ['first', 'second']);
});

test('what cannot be encoded is refused without a request, after `produce` has returned', async () => {
  const refusedTopics: string[] = [];
  const { cluster, producer } = openScene({
    hooks: { refused: (topic) => refusedTopics.push(topic) },
  });
  const wrong = { topic: 'a', key: 'k', value: 7 } as unknown as OutgoingRecord;
  let hasReturned = false;
  const refused = await new Promise<PostriderError | undefined>((resolve) => {
    producer.produce(wrong, (error) => {
      assert.equal(hasReturned, true);
      resolve(error);
    });
    hasReturned = true;
  });
  assert.equal(refused?.code, 'record-refused');
  assert.deepEqual(refusedTopics, ['a']);
  assert.equal(cluster.requests.length, 0);
});

test('hooks see every answer: what was written, and why the rest was not', async () => {
  const seen: unknown[] = [];
  const { cluster, producer } = openScene({
    hooks: {
      written: (answer) => seen.push(answer),
      failed: (reason, topics) => seen.push([reason, topics]),
    },
  });
  cluster.fault = (_, __, partition) =>
    cluster.requests.length === 1 && partition === 0 ? { error: 'NOT_ENOUGH_REPLICAS' } : undefined;
  await producer.send([record('a', '1', 0), record('a', '2', 0), record('a', '3', 1)]);
  assert.deepEqual(seen, [
    { records: 1, partitions: 1 },
    ['NOT_ENOUGH_REPLICAS', ['a']],
    { records: 2, partitions: 1 },
  ]);
});

test('a close that cannot wait long enough settles nothing, and whoever sent learns of it', async () => {
  const { cluster, producer } = openScene();
  cluster.fault = () => ({ error: 'NOT_ENOUGH_REPLICAS' });
  let settled = 0;
  producer.produce(record('a', '1', 0), () => (settled += 1));
  const sent = producer.send([record('a', '2', 1)]);
  await Promise.all([assert.rejects(sent, { code: 'stopped' }), producer.close(1)]);
  assert.equal(settled, 0);
  assert.equal(producer.queuedRecords, 2);
  assert.ok(cluster.isClosed);
  assert.throws(
    () => {
      producer.produce(record('a', '3', 0), () => undefined);
    },
    { code: 'stopped' },
  );
});

test('nothing is asked of Kafka after the close, for records that were to wait', async () => {
  const clock = new SimulatedClock();
  const { cluster, producer } = openScene({ clock });
  await producer.partitionCount('a');
  producer.produce({ ...record('a', '1', 0), mayWait: true }, () => undefined);
  await producer.close(0);
  await clock.pass(1_000);
  assert.deepEqual([cluster.identities, cluster.requests.length], [0, 0]);
});

test('topics that were written to are not asked for after the close', async () => {
  const clock = new SimulatedClock();
  const { cluster, producer } = openScene({ clock });
  await producer.send([record('a', '1', 0)]);
  await producer.close(0);
  const asked = cluster.refreshed.length;
  await clock.pass(120_000);
  assert.equal(cluster.refreshed.length, asked);
});

test('a topic that is missing is not asked for after the close', async (t) => {
  const { cluster, producer } = openScene();
  // Whoever still asks would keep this process alive.
  t.after(() => {
    cluster.makeTopic('missing', 1);
  });
  producer.produce(record('missing', '1'), () => undefined);
  await eventually(() => {
    assert.ok(cluster.refreshed.length > 1);
  });
  await producer.close(0);
  await setImmediate();
  const asked = cluster.refreshed.length;
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  assert.equal(cluster.refreshed.length, asked);
});

test('an answer that comes after the close is not told to anybody', async () => {
  const { cluster, producer } = openScene();
  const answer = Promise.withResolvers<undefined>();
  cluster.delay = () => answer.promise;
  let settled = 0;
  producer.produce(record('a', '1', 0), () => (settled += 1));
  await eventually(() => {
    assert.equal(cluster.requests.length, 1);
  });
  await producer.close(0);
  answer.resolve(undefined);
  await eventually(() => {
    assert.deepEqual(cluster.log('a', 0).values, ['1']);
  });
  await setImmediate();
  assert.equal(settled, 0);
});

const mebibyte = 'x'.repeat(1024 * 1024);
const large = (value: string): OutgoingRecord => ({
  topic: 'a',
  key: value,
  value: mebibyte,
  partition: 0,
});

test('with 64 MiB it is full, and `send` waits until there is room, in the order of the calls', async () => {
  const { cluster, producer } = openScene({ partitions: 2 });
  const away = Promise.withResolvers<undefined>();
  cluster.delay = () => away.promise;
  let late: Promise<void> | undefined;
  producer.produce(large('first'), () => {
    late = producer.send([record('a', 'late', 1)]);
  });
  const first = producer.send(numbers(1, 63).map(large));
  assert.equal(producer.isFull, false);
  await producer.whenRoom();
  const second = producer.send([large('63')]);
  assert.equal(producer.isFull, true);
  const waiting = numbers(0, 3).map((value) => producer.send([record('a', value, 1)]));
  let hasRoom = false;
  const room = producer.whenRoom().then(() => {
    hasRoom = true;
  });
  await setImmediate();
  assert.equal(producer.queuedRecords, 64);
  assert.equal(hasRoom, false);
  away.resolve(undefined);
  await Promise.all([first, second, room, ...waiting]);
  await late;
  assert.deepEqual(cluster.log('a', 1).values, ['0', '1', '2', 'late']);
  assert.equal(producer.isFull, false);
});

test('whoever waits for room learns that the producer is closed', async () => {
  const { cluster, producer } = openScene();
  cluster.delay = () => new Promise(() => undefined);
  const first = producer.send(numbers(0, 64).map(large));
  const second = producer.send([record('a', '1', 1)]);
  const room = producer.whenRoom();
  await Promise.all([
    assert.rejects(first, { code: 'stopped' }),
    assert.rejects(second, { code: 'stopped' }),
    room,
    producer.close(1),
  ]);
  await producer.whenRoom();
});

test('how far the clock is off Kafka’s is known from the answers, and said where it matters', async () => {
  const { log, lines } = keptLog();
  const clock = new SimulatedClock();
  const { cluster, producer } = openScene({ clock, log });
  const write = async (value: string): Promise<number> => {
    const sent = producer.send([record('a', value)]);
    await clock.pass(1_000);
    await sent;
    return producer.clockAheadMs;
  };
  assert.equal(await write('records keep their writers’ times'), 0);
  cluster.nowMs = clock.now() - 300_000;
  assert.ok((await write('ahead')) >= 300_000);
  assert.ok((await write('still')) >= 300_000);
  await clock.pass(10_000);
  cluster.nowMs = clock.now() + 60_000;
  assert.ok((await write('behind')) <= -59_000);
  await clock.pass(10_000);
  cluster.nowMs = clock.now();
  assert.equal(await write('right'), 0);
  assert.deepEqual(lines, [
    "This machine's clock is 300 s ahead of Kafka's",
    "This machine's clock is 59 s behind Kafka's",
    "This machine's clock agrees with Kafka's",
  ]);
});

test('the answer to what is sent again says nothing of the clock: the first request may have appended it', async () => {
  const clock = new SimulatedClock();
  const { cluster, producer } = openScene({ clock });
  cluster.nowMs = clock.now() - 300_000;
  cluster.lose = ({ batches }) =>
    batches.length > 0 && cluster.requests.length < 2 ? 'answer' : undefined;
  const sent = producer.send([record('a', 'x')]);
  await clock.pass(1_000);
  await sent;
  assert.equal(producer.clockAheadMs, 0);
});

test('of brokers whose clocks differ, no more than a line in ten seconds is said', async () => {
  const { log, lines } = keptLog();
  const clock = new SimulatedClock();
  const { cluster, producer } = openScene({ clock, log });
  for (let second = 0; second < 20; second += 1) {
    cluster.nowMs = clock.now() - (second % 2) * 60_000;
    const sent = producer.send([record('a', 'x')]);
    await clock.pass(1_000);
    await sent;
  }
  assert.equal(lines.length, 2);
});
