import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import {
  startConsumeLoop,
  type ConsumeLoopOptions,
} from '../../../src/kafka/consume/consume-loop.ts';
import type { ConsumedRecord } from '../../../src/kafka/consume/consumed-record.ts';
import { systemClock, type Clock } from '../../../src/ops/clock.ts';
import { eventually } from '../../harness/eventually.ts';
import { FakeKafka, FakeLogger } from '../fake-kafka.ts';

const topic = 'topic';

async function start(kafka: FakeKafka, options: Partial<ConsumeLoopOptions> = {}) {
  const received: ConsumedRecord[] = [];
  const crashes: Error[] = [];
  const log = new FakeLogger();
  const loop = await startConsumeLoop(kafka.client, {
    groupId: 'group',
    topics: [topic],
    windowRecords: 100,
    windowBytes: 1_000,
    clock: systemClock,
    log,
    onRecords: (records) => {
      received.push(...records);
    },
    onCrash: (error) => {
      crashes.push(error);
    },
    ...options,
  });
  return { loop, received, crashes, log };
}

/** The consumer that was made last. */
async function untilRunning(kafka: FakeKafka): Promise<void> {
  await eventually(() => {
    assert.ok(kafka.consumers.at(-1)?.runConfig);
  });
}

async function join(kafka: FakeKafka, loop: { joined: boolean }): Promise<void> {
  await untilRunning(kafka);
  kafka.consumerNow.emit('GROUP_JOIN', { memberAssignment: { [topic]: [0] } });
  await eventually(() => {
    assert.ok(loop.joined);
  });
}

test('kafkajs is told to commit and resolve nothing by itself, to begin early and to notice death soon', async () => {
  const kafka = new FakeKafka([topic]);
  const { loop } = await start(kafka);
  await join(kafka, loop);
  const { config, runConfig, fromBeginning } = kafka.consumerNow;
  assert.equal(config.sessionTimeout, 10_000);
  assert.equal(config.heartbeatInterval, 1_000);
  assert.ok((config.maxWaitTimeInMs ?? 5_000) >= 100 && (config.maxWaitTimeInMs ?? 5_000) <= 250);
  assert.equal(config.allowAutoTopicCreation, false);
  assert.equal(runConfig?.autoCommit, false);
  assert.equal(runConfig.eachBatchAutoResolve, false);
  assert.equal(fromBeginning, true);
  await loop.stop(0);
});

test('the handler of a batch returns at once and resolves what was accepted', async () => {
  const kafka = new FakeKafka([topic]);
  const { loop, received } = await start(kafka);
  await join(kafka, loop);
  const resolved: string[] = [];
  const handled = kafka.consumerNow.handle(0, 3, resolved);
  assert.equal(received.length, 3);
  assert.deepEqual(resolved, ['2']);
  await handled;
  await kafka.consumerNow.handle(7, 3, resolved);
  assert.deepEqual(resolved, ['2']);
  await loop.stop(0);
});

test('an answer that does not name a partition does not say that nothing is committed', async () => {
  const kafka = new FakeKafka([topic]);
  kafka.committed = '5';
  kafka.end = 5;
  kafka.answersWithoutPartitions = 1;
  const { loop, log } = await start(kafka);
  await join(kafka, loop);
  const seeks = kafka.consumerNow.calls.filter((call) => call.startsWith('seek'));
  assert.deepEqual(seeks, ['seek 0 to 5']);
  assert.match(log.visible.join(), /does not name partition 0 of topic/);
  assert.equal(kafka.committed, '5');
  await loop.stop(0);
});

test('what is finished is committed when a rebalance is announced', async () => {
  const kafka = new FakeKafka([topic]);
  const { loop, received } = await start(kafka);
  await join(kafka, loop);
  await kafka.consumerNow.handle(0, 3);
  received[0]?.finish();
  kafka.consumerNow.emit('REBALANCING');
  assert.equal(kafka.consumerNow.calls.at(-1), 'commit 1');
  assert.equal(loop.joined, false);
  await loop.stop(0);
});

test('stopping commits before it leaves the group, because kafkajs ignores a commit after that', async () => {
  const kafka = new FakeKafka([topic]);
  const { loop, received } = await start(kafka);
  await join(kafka, loop);
  await kafka.consumerNow.handle(0, 3);
  const stopped = loop.stop(20_000);
  for (const record of received) record.finish();
  await stopped;
  assert.deepEqual(kafka.consumerNow.calls.slice(-2), ['commit 3', 'disconnect']);
});

test('stopping gives up waiting after the time allowed', async () => {
  const kafka = new FakeKafka([topic]);
  const { loop } = await start(kafka);
  await join(kafka, loop);
  await kafka.consumerNow.handle(0, 3);
  await loop.stop(1);
  assert.equal(kafka.consumerNow.calls.at(-1), 'disconnect');
});

test('a crash that kafkajs recovers from by itself is logged in one line and counted', async () => {
  const kafka = new FakeKafka([topic]);
  const restarts: Error[] = [];
  const observer = { restarted: (error: Error) => restarts.push(error) };
  const { loop, crashes, log } = await start(kafka, { observer });
  await join(kafka, loop);
  kafka.consumerNow.emit('CRASH', { error: new Error('connection lost'), restart: true });
  assert.equal(restarts.length, 1);
  assert.deepEqual(crashes, []);
  assert.equal(loop.joined, false);
  assert.equal(log.visible.length, 1);
  assert.match(log.visible[0] ?? '', /^warn: .*connection lost/);
  await join(kafka, loop);
  await loop.stop(0);
});

test('a crash that kafkajs does not recover from is told to the owner', async () => {
  const kafka = new FakeKafka([topic]);
  const { loop, crashes } = await start(kafka);
  await join(kafka, loop);
  kafka.consumerNow.emit('CRASH', { error: new TypeError('a defect'), restart: false });
  assert.deepEqual(crashes.map(String), ['TypeError: a defect']);
  await loop.stop(0);
});

const noCoordinator = Object.assign(new Error('Failed to find group coordinator'), {
  name: 'KafkaJSGroupCoordinatorNotFound',
});

test('a coordinator that cannot be found is no reason to give up, although kafkajs does', async () => {
  const kafka = new FakeKafka([topic]);
  const { loop, crashes } = await start(kafka);
  await join(kafka, loop);
  kafka.consumerNow.emit('CRASH', { error: noCoordinator, restart: false });
  await eventually(() => {
    assert.equal(kafka.consumers.length, 2);
  });
  await join(kafka, loop);
  assert.deepEqual(crashes, []);
  await loop.stop(0);
});

test('a group that cannot even be joined is tried again, but not at once', async () => {
  const kafka = new FakeKafka([topic]);
  const { loop } = await start(kafka);
  await untilRunning(kafka);
  kafka.consumerNow.emit('CRASH', { error: noCoordinator, restart: false });
  for (let i = 0; i < 20; i += 1) await turn();
  assert.equal(kafka.consumers.length, 1);
  await eventually(() => {
    assert.equal(kafka.consumers.length, 2);
  });
  await join(kafka, loop);
  await loop.stop(0);
});

test('stopping ends the wait for the next try to join a group', async () => {
  const kafka = new FakeKafka([topic]);
  const { loop } = await start(kafka);
  await untilRunning(kafka);
  const error = Object.assign(new Error('timeout'), { name: 'KafkaJSLockTimeout' });
  kafka.consumerNow.emit('CRASH', { error, restart: false });
  await loop.stop(0);
  assert.equal(kafka.consumers.length, 1);
});

test('by default a final crash ends the process with code 1 and one line, not a stack', () => {
  const here = import.meta.dirname;
  const script = `
    import { startConsumeLoop } from '${here}/../../../src/kafka/consume/consume-loop.ts';
    import { systemClock } from '${here}/../../../src/ops/clock.ts';
    import { createLogger } from '${here}/../../../src/ops/log.ts';
    import { FakeKafka } from '${here}/../fake-kafka.ts';
    const kafka = new FakeKafka(['topic']);
    await startConsumeLoop(kafka.client, {
      groupId: 'group', topics: ['topic'], windowRecords: 1, windowBytes: 1, clock: systemClock,
      log: createLogger({ level: 'info', format: 'json' }), onRecords: () => undefined,
    });
    setInterval(() => {
      kafka.consumers[0]?.emit('CRASH', { error: new TypeError('a defect'), restart: false });
    }, 1);
  `;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  assert.equal(child.status, 1);
  assert.match(child.stderr, /"reason":"a defect"/);
  assert.doesNotMatch(child.stderr, /\n\s+at /);
});

test('an error in a callback of the stage is a crash, not a reason to read again', async () => {
  const kafka = new FakeKafka([topic]);
  const { loop, crashes } = await start(kafka, {
    onRecords: () => {
      throw new Error('a defect');
    },
  });
  await join(kafka, loop);
  await kafka.consumerNow.handle(0, 1);
  assert.deepEqual(crashes.map(String), ['Error: a defect']);
  await loop.stop(0);
});

test('topics that another member reads are read too, by a new consumer', async () => {
  const kafka = new FakeKafka([topic, 'added']);
  const { loop, received } = await start(kafka);
  await join(kafka, loop);
  await kafka.consumerNow.handle(0, 2);
  received[0]?.finish();
  const first = kafka.consumerNow;
  first.emit('RECEIVED_UNSUBSCRIBED_TOPICS', { topicsNotSubscribed: ['added', 'deleted'] });
  await eventually(() => {
    assert.deepEqual(kafka.consumerNow.topics, [topic, 'added']);
  });
  assert.deepEqual(first.calls.slice(-2), ['commit 1', 'disconnect']);
  await loop.stop(0);
});

test('topics of other members that no longer exist are left alone', async () => {
  const kafka = new FakeKafka([topic]);
  const { loop } = await start(kafka);
  await join(kafka, loop);
  kafka.consumerNow.emit('RECEIVED_UNSUBSCRIBED_TOPICS', { topicsNotSubscribed: ['deleted'] });
  for (let i = 0; i < 20; i += 1) await turn();
  assert.equal(kafka.consumers.length, 1);
  await loop.stop(0);
});

test('a missing topic is looked for once at a time, however often the group was joined again', async () => {
  const kafka = new FakeKafka([topic]);
  const looks = new Set<() => void>();
  const clock: Clock = {
    now: () => Date.now(),
    after: (_delayMs, look) => {
      looks.add(look);
      return { cancel: () => looks.delete(look) };
    },
  };
  const { loop } = await start(kafka, { topics: [topic, 'missing'], clock });
  for (const joins of [1, 2, 3]) {
    await eventually(() => {
      assert.equal(kafka.consumers.length, joins);
    });
    await join(kafka, loop);
    kafka.consumerNow.emit('CRASH', { error: noCoordinator, restart: false });
  }
  await eventually(() => {
    assert.equal(kafka.consumers.length, 4);
  });
  await join(kafka, loop);
  kafka.topics.push('missing');
  for (const look of [...looks]) {
    look();
    for (let i = 0; i < 20; i += 1) await turn();
  }
  assert.equal(kafka.consumers.length, 5);
  assert.deepEqual(kafka.consumerNow.topics, [topic, 'missing']);
  await loop.stop(0);
});

test('Kafka being away at the start is said in one line and retried', async () => {
  const kafka = new FakeKafka([topic]);
  kafka.isAway = true;
  const { loop, log } = await start(kafka);
  await eventually(() => {
    assert.ok(kafka.attempts >= 3);
  });
  assert.equal(log.visible.length, 1);
  assert.match(log.visible[0] ?? '', /Cannot join group group; trying again.*ECONNREFUSED/);
  assert.equal(loop.joined, false);
  kafka.isAway = false;
  await join(kafka, loop);
  await loop.stop(0);
});

test('stopping while Kafka is away ends the attempts', async () => {
  const kafka = new FakeKafka([topic]);
  kafka.isAway = true;
  const { loop, log } = await start(kafka);
  await eventually(() => {
    assert.equal(log.visible.length, 1);
  });
  await loop.stop(20_000);
  assert.equal(kafka.consumers.length, 0);
});

test('a consumer that is still joining when the loop stops leaves the group once it has joined', async () => {
  const kafka = new FakeKafka([topic]);
  const joining = Promise.withResolvers<undefined>();
  kafka.joining = joining.promise;
  const { loop } = await start(kafka);
  await eventually(() => {
    assert.ok(kafka.consumers.at(-1)?.runConfig);
  });
  const stopped = loop.stop(0);
  for (let i = 0; i < 20; i += 1) await turn();
  kafka.consumerNow.calls.push('joined');
  joining.resolve(undefined);
  await stopped;
  assert.deepEqual(kafka.consumerNow.calls.slice(-3), ['run', 'joined', 'disconnect']);
});

test('a consumer that joins after the stop is told to leave again', async () => {
  const kafka = new FakeKafka([topic]);
  const { loop } = await start(kafka);
  await join(kafka, loop);
  await loop.stop(0);
  const before = kafka.consumerNow.calls.length;
  kafka.consumerNow.emit('GROUP_JOIN', { memberAssignment: { [topic]: [0] } });
  await turn();
  assert.deepEqual(kafka.consumerNow.calls.slice(before), ['disconnect']);
  assert.equal(await kafka.consumerNow.config.retry?.restartOnFailure?.(new Error('late')), false);
});
