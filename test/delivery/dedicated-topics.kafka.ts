import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Registry } from 'prom-client';
import { DedicatedTopics } from '../../src/delivery/dedicated-topics.ts';
import { DeliveryEvents } from '../../src/delivery/events.ts';
import { DeliveryMetrics } from '../../src/delivery/metrics.ts';
import { ensureTopics, withAdmin } from '../../src/kafka/admin.ts';
import { createKafka } from '../../src/kafka/client.ts';
import type { KafkaClient } from '../../src/kafka/client.ts';
import { startConsumeLoop } from '../../src/kafka/consume/consume-loop.ts';
import type { TakenRecord } from '../../src/kafka/consume/taken-record.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import type { Producer } from '../../src/kafka/produce/producer.ts';
import { systemClock } from '../../src/ops/clock.ts';
import type { SteadyClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import type { Destination } from '../../src/resources/resource.ts';
import { createTopology } from '../../src/topology.ts';
import type { Topology } from '../../src/topology.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { HandMadeConfig } from './hand-made-config.ts';

const minuteMs = 60_000;

function destination(topic: Destination['topic']): Destination {
  return {
    kind: 'Destination',
    id: 'big',
    name: 'big',
    sources: [],
    enabled: true,
    webhooks: [{ url: 'https://big.example/', headers: {} }],
    payload: 'standard',
    topic,
  };
}

describe('the dedicated topics on Kafka', () => {
  let kafka: KafkaClient;
  let producer: Producer;
  let topology: Topology;
  let config: HandMadeConfig;
  let topics: DedicatedTopics;
  let waiting: TakenRecord[];
  /** How far the clock is ahead of the real one. */
  let aheadMs: number;
  /** How far it was set forward, beside that. */
  let setByMs: number;
  let left: string[];
  /** What happens while a reader stops. */
  let meanwhile: () => void | Promise<void>;

  beforeEach(async () => {
    const { brokers } = await testBroker();
    kafka = createKafka({ brokers, clientId: 'dedicated-test' }, silentLogger);
    producer = await createProducer(kafka, { log: silentLogger });
    topology = createTopology({
      prefix: testPrefix(),
      partitions: 1,
      replicationFactor: 1,
      retryTiersMs: [60_000],
      extraIngestTopics: [],
    });
    config = new HandMadeConfig();
    [waiting, aheadMs, setByMs, left, meanwhile] = [[], 0, 0, [], () => undefined];
    const clock: SteadyClock = {
      now: () => Date.now() + aheadMs + setByMs,
      steadyNow: () => performance.now() + aheadMs,
      after: (delayMs, callback) => systemClock.after(delayMs, callback),
    };
    topics = new DedicatedTopics({
      kafka,
      topology,
      config,
      clock,
      events: new DeliveryEvents(silentLogger, new DeliveryMetrics(new Registry()), clock),
      read: (topic, groupId) => {
        const loop = startConsumeLoop(kafka, {
          groupId,
          topics: [topic],
          windowRecords: 100,
          windowBytes: 100_000,
          clock: systemClock,
          log: silentLogger,
          onRecords: (records) => waiting.push(...records),
        });
        const stop = loop.stop.bind(loop);
        loop.stop = async (timeoutMs) => {
          await stop(timeoutMs);
          await meanwhile();
        };
        return loop;
      },
      left: (id) => left.push(id),
    });
    await ensureTopics(kafka, [topology.dedicatedTopic('big')]);
    config.put(destination('dedicated'));
    await topics.look();
    await write('early');
    await eventually(() => {
      assert.equal(waiting.length, 1);
    });
  });

  afterEach(async () => {
    await topics.stop(0);
    await producer.close(5_000);
  });

  const write = async (value: string): Promise<void> => {
    const { name: topic } = topology.dedicatedTopic('big');
    await producer.send([{ topic, key: 'big:u', value }]);
  };
  const isThere = async (): Promise<boolean> => {
    const names = await withAdmin(kafka, (admin) => admin.topicNames(topology.prefix));
    return names.includes(topology.dedicatedTopic('big').name);
  };
  const finishAll = (): void => {
    for (const record of waiting.splice(0)) record.finish();
  };

  /** Workers look every few seconds. */
  const lookUntil = (check: () => void | Promise<void>): Promise<void> =>
    eventually(async () => {
      await topics.look();
      await check();
    });

  test('a topic whose destination became a shared one is read until it is empty, and then left', async () => {
    config.put(destination('shared'));
    await topics.look();
    assert.equal(topics.readers.length, 1);
    finishAll();
    await lookUntil(() => {
      assert.equal(topics.readers.length, 0);
    });
    assert.deepEqual(left, ['big']);
    assert.ok(await isThere());
    config.put(destination('dedicated'));
    await topics.look();
    assert.equal(topics.readers.length, 1);
  });

  test('what a router that was behind writes to a topic that was left is read', async () => {
    config.put(destination('shared'));
    finishAll();
    await lookUntil(() => {
      assert.deepEqual(left, ['big']);
    });
    await write('late');
    await lookUntil(() => {
      assert.equal(waiting.length, 1);
    });
    finishAll();
    await lookUntil(() => {
      assert.deepEqual(left, ['big', 'big']);
    });
    assert.equal(topics.readers.length, 0);
  });

  test('the topic of a deleted destination is removed once it is empty and no router writes to it', async () => {
    config.remove('big');
    await topics.look();
    aheadMs += 11 * minuteMs;
    await topics.look();
    assert.ok(await isThere(), 'not while something waits in it');
    finishAll();
    await lookUntil(async () => {
      assert.ok(!(await isThere()));
    });
    assert.equal(topics.readers.length, 0);
  });

  test('the topic of a destination that is made again while it is being removed stays', async () => {
    config.remove('big');
    finishAll();
    await topics.look();
    aheadMs += 11 * minuteMs;
    meanwhile = () => {
      config.put(destination('dedicated'));
    };
    await lookUntil(() => {
      assert.deepEqual(left, ['big']);
    });
    assert.ok(await isThere());
    await topics.look();
    assert.equal(topics.readers.length, 1);
  });

  test('nor is it removed by a worker that has not heard yet that it was made again', async () => {
    config.remove('big');
    finishAll();
    await topics.look();
    aheadMs += 11 * minuteMs;
    config.caughtUp = () => {
      config.put(destination('dedicated'));
      return Promise.resolve();
    };
    await lookUntil(() => {
      assert.deepEqual(left, ['big']);
    });
    assert.ok(await isThere());
  });

  test('what is written to a topic while it is being removed is read before', async () => {
    config.remove('big');
    finishAll();
    await topics.look();
    aheadMs += 11 * minuteMs;
    meanwhile = () => write('late');
    await lookUntil(() => {
      assert.deepEqual(left, ['big']);
    });
    assert.ok(await isThere());
    meanwhile = () => undefined;
    await lookUntil(() => {
      assert.equal(waiting.length, 1);
    });
    finishAll();
    await lookUntil(async () => {
      assert.ok(!(await isThere()));
    });
  });

  test('a topic that another worker has removed is left', async () => {
    config.remove('big');
    finishAll();
    await withAdmin(kafka, (admin) => admin.deleteTopic(topology.dedicatedTopic('big').name));
    await lookUntil(() => {
      assert.equal(topics.readers.length, 0);
    });
    assert.deepEqual(left, ['big']);
  });

  test('the topic of a destination that was deleted just now stays, though it is empty', async () => {
    finishAll();
    config.remove('big');
    aheadMs += 5 * minuteMs;
    await topics.look();
    await topics.look();
    assert.ok(await isThere());
  });

  test('nor is it removed because the clock was set forward', async () => {
    config.remove('big');
    finishAll();
    const { name } = topology.dedicatedTopic('big');
    await eventually(async () => {
      const committed = await withAdmin(kafka, (admin) =>
        admin.committedOffsets(topology.dedicatedGroup('big'), [name]),
      );
      assert.deepEqual(committed.get(name), [1]);
    });
    await topics.look();
    setByMs = 60 * minuteMs;
    await topics.look();
    assert.ok(await isThere());
  });
});
