import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from '../../harness/fast-check.ts';
import type { PostriderError } from '../../../src/errors.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import { eventually } from '../../harness/eventually.ts';
import type { ReceivedBatch } from './writable-cluster.ts';
import { keptLog, numbers, openScene, record, series, type Scene } from './scene.ts';

const holds = (batch: ReceivedBatch, value: string): boolean => batch.values.includes(value);

/** What arrived for one partition, as numbers of records by request. */
function sizesOf({ cluster }: Scene, partition: number): number[] {
  return cluster.requests.flatMap(({ batches }) =>
    batches.filter((batch) => batch.partition === partition).map(({ values }) => values.length),
  );
}

test('one partition with too few replicas repeats and stops none of its neighbours', async () => {
  const scene = openScene();
  const { cluster, producer } = scene;
  let isBad = true;
  cluster.fault = (_, __, partition) =>
    isBad && partition === 2 ? { error: 'NOT_ENOUGH_REPLICAS' } : undefined;
  const bad = producer.send(series('a', 2, 0, 3));
  for (let i = 0; i < 50; i += 1)
    await producer.send([0, 1, 3].map((partition) => record('a', String(i), partition)));
  for (const partition of [0, 1, 3]) {
    assert.deepEqual(cluster.log('a', partition).values, numbers(0, 50));
    assert.equal(sizesOf(scene, partition).length, 50);
  }
  assert.deepEqual(cluster.log('a', 2).values, []);
  isBad = false;
  await bad;
  assert.deepEqual(cluster.log('a', 2).values, numbers(0, 3));
});

test('what is sent again is the same bytes, with waits that grow', async () => {
  const { cluster, producer, pauses } = openScene();
  cluster.fault = () =>
    cluster.requests.length <= 8
      ? { error: 'NOT_ENOUGH_REPLICAS_AFTER_APPEND', afterAppend: true }
      : undefined;
  await producer.send(series('a', 0, 0, 3));
  await producer.send(series('a', 0, 3, 5));
  assert.deepEqual(cluster.log('a', 0).values, numbers(0, 5));
  const [first, ...others] = cluster.requests.slice(0, 9).map(({ batches }) => batches[0]?.bytes);
  for (const bytes of others) assert.ok(first !== undefined && bytes?.equals(first) === true);
  assert.equal(pauses.length, 8);
  assert.ok((pauses[0] ?? 0) <= 120 && (pauses[7] ?? 0) >= 4_000);
});

for (const lost of ['request', 'answer'] as const) {
  test(`a lost ${lost} costs no record and writes none twice`, async () => {
    const { cluster, producer } = openScene();
    let losses = 0;
    cluster.lose = () => (losses++ % 3 < 2 ? lost : undefined);
    for (let i = 0; i < 20; i += 1)
      await producer.send([0, 1, 2, 3].map((partition) => record('a', String(i), partition)));
    assert.deepEqual(cluster.values('a'), Array(4).fill(numbers(0, 20)));
  });
}

test('an answer that leaves a partition out is none for that partition', async () => {
  const reasons: string[] = [];
  const { cluster, producer } = openScene({ hooks: { failed: (reason) => reasons.push(reason) } });
  cluster.fault = (_, __, partition) =>
    cluster.requests.length === 1 && partition === 0 ? 'unanswered' : undefined;
  await producer.send([record('a', '1', 0), record('a', '2', 1)]);
  assert.deepEqual(cluster.values('a'), [['1'], ['2'], [], []]);
  assert.deepEqual(reasons, ['PartitionUnanswered']);
});

test('a leader that moves is asked for at once, and the first try goes to the new one without a wait', async () => {
  const { cluster, producer, pauses } = openScene();
  await producer.send([record('a', '0', 0), record('a', '0', 1)]);
  cluster.log('a', 1).lead(2);
  await producer.send([record('a', '1', 0), record('a', '1', 1)]);
  assert.deepEqual(cluster.values('a').slice(0, 2), Array(2).fill(['0', '1']));
  assert.deepEqual(pauses, []);
  assert.deepEqual(
    cluster.requests.map(({ nodeId, batches }) => [nodeId, batches.length]),
    [
      [1, 2],
      [1, 2],
      [2, 1],
    ],
  );
});

test('a leader that reaches no replica is left for the one that others have elected', async () => {
  const { cluster, producer } = openScene();
  const log = cluster.log('a', 0);
  await producer.send([record('a', '0', 0)]);
  // Nobody else tells the producer.
  cluster.onRefresh = () => {
    log.lead(2);
  };
  cluster.fault = () =>
    log.leader === 1 && cluster.requests.length <= 5 ? { error: 'REQUEST_TIMED_OUT' } : undefined;
  await producer.send([record('a', '1', 0)]);
  assert.deepEqual(log.values, ['0', '1']);
  assert.deepEqual(
    cluster.requests.map(({ nodeId }) => nodeId),
    [1, 1, 2],
  );
});

for (const error of ['NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND'] as const)
  test(`a leader that answers ${error} is left, after a wait, for the one that others have elected`, async () => {
    const { cluster, producer, pauses } = openScene();
    const log = cluster.log('a', 0);
    await producer.send([record('a', '0', 0)]);
    // Nobody else tells the producer.
    cluster.onRefresh = () => {
      log.lead(2);
    };
    cluster.fault = () =>
      log.leader === 1 && cluster.requests.length <= 9 ? { error } : undefined;
    await producer.send([record('a', '1', 0)]);
    assert.deepEqual(log.values, ['0', '1']);
    assert.equal(cluster.requests.at(-1)?.nodeId, 2);
    assert.ok(pauses.length > 0);
  });

test('two brokers that each name the other as the leader are asked with waits that grow', async () => {
  const { cluster, producer, pauses } = openScene();
  const log = cluster.log('a', 0);
  cluster.onRefresh = () => (log.leader = 3 - log.leader);
  cluster.fault = () =>
    cluster.requests.length <= 8 ? { error: 'NOT_LEADER_FOR_PARTITION' } : undefined;
  await producer.send([record('a', '1', 0)]);
  assert.deepEqual(log.values, ['1']);
  assert.equal(pauses.length, 8);
  const lastMs = pauses.at(-1) ?? 0;
  assert.ok(lastMs >= 800 && lastMs <= 1_200, `${lastMs} ms`);
});

for (const [what, first] of [
  ['has none', -1],
  ['does not answer', 1],
] as const)
  test(`a partition whose leader ${what} is written to as soon as another one is told of`, async () => {
    const { cluster, producer, pauses } = openScene();
    const log = cluster.log('a', 0);
    log.lead(first);
    cluster.lose = ({ nodeId }) => (nodeId === 1 ? 'request' : undefined);
    cluster.onRefresh = () => {
      if (cluster.refreshed.length === 6) log.lead(2);
    };
    await producer.send([record('a', '1', 0)]);
    assert.deepEqual(log.values, ['1']);
    // The first question is for the number of partitions, and the second follows the first failure at once.
    assert.equal(pauses.length, 4);
  });

test('a partition without a leader waits for one, and its neighbours do not', async () => {
  const reasons = new Set<string>();
  const { cluster, producer } = openScene({ hooks: { failed: (reason) => reasons.add(reason) } });
  cluster.log('a', 1).lead(-1);
  const waiting = producer.send([record('a', '1', 1)]);
  await producer.send([record('a', '2', 0)]);
  await producer.send([record('a', '3', 0)]);
  cluster.log('a', 1).lead(3);
  await waiting;
  assert.deepEqual(cluster.values('a').slice(0, 2), [['2', '3'], ['1']]);
  assert.deepEqual([...reasons], ['LEADER_NOT_AVAILABLE']);
});

test('leaders are asked for together, and while no broker answers the old ones are tried', async () => {
  const { cluster, producer } = openScene({ partitions: 12 });
  const partitions = Array.from({ length: 12 }, (_, i) => i);
  await producer.send(partitions.map((partition) => record('a', '0', partition)));
  const before = cluster.refreshed.length;
  let isAway = true;
  cluster.lose = () => (isAway ? 'request' : undefined);
  cluster.onRefresh = () => {
    if (isAway) throw new KafkaAnswerError('NETWORK_EXCEPTION', 'no broker');
  };
  for (const partition of partitions.slice(6)) cluster.log('a', partition).lead(2);
  const waiting = producer.send(partitions.map((partition) => record('a', '1', partition)));
  await eventually(() => {
    assert.ok(cluster.requests.length >= 5);
  });
  isAway = false;
  await waiting;
  assert.deepEqual(cluster.values('a'), Array(12).fill(['0', '1']));
  assert.ok(cluster.refreshed.length - before <= cluster.requests.length);
});

for (const error of ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD'] as const) {
  test(`${error} refuses only the record that it is about; its neighbours are written once`, async () => {
    const refusedTopics: string[] = [];
    const scene = openScene({ hooks: { refused: (topic) => refusedTopics.push(topic) } });
    const { cluster, producer } = scene;
    cluster.fault = (batch, _, partition) =>
      partition === 1 && holds(batch, '13') ? { error, message: 'no key' } : undefined;
    const refused = new Map<string, PostriderError | undefined>();
    for (const each of [0, 1, 2].flatMap((partition) => series('a', partition, 0, 20)))
      producer.produce(each, (refusal) => {
        assert.equal(refused.has(`${each.partition}#${String(each.value)}`), false);
        refused.set(`${each.partition}#${String(each.value)}`, refusal);
      });
    await producer.close(10_000);
    const others = numbers(0, 20).filter((value) => value !== '13');
    assert.deepEqual(cluster.values('a'), [numbers(0, 20), others, numbers(0, 20), []]);
    const culprits = [...refused].filter(([, refusal]) => refusal !== undefined);
    assert.deepEqual(
      culprits.map(([name]) => name),
      ['1#13'],
    );
    assert.equal(culprits[0]?.[1]?.code, 'record-refused');
    assert.match(
      culprits[0][1].message,
      new RegExp(
        `^Kafka refused a record of \\d+ bytes for topic a, partition 1: ${error}, no key$`,
      ),
    );
    assert.deepEqual(refusedTopics, ['a']);
    assert.deepEqual(
      [0, 2].map((partition) => sizesOf(scene, partition)),
      [[20], [20]],
    );
  });
}

test('sending several rejects with the first refusal, once all others are written', async () => {
  const { cluster, producer } = openScene();
  cluster.fault = (batch) => (holds(batch, 'bad') ? { error: 'INVALID_RECORD' } : undefined);
  const given = ['1', 'bad', '2', '3'].map((value) => record('a', value, 0));
  await assert.rejects(producer.send(given), { code: 'record-refused' });
  assert.deepEqual(cluster.log('a', 0).values, ['1', '2', '3']);
});

test('a batch that is larger than its topic takes arrives in parts, in order', async () => {
  const { cluster, producer } = openScene();
  cluster.fault = ({ values }) => (values.length > 7 ? { error: 'MESSAGE_TOO_LARGE' } : undefined);
  await producer.send(series('a', 0, 0, 100));
  assert.deepEqual(cluster.log('a', 0).values, numbers(0, 100));
});

for (const error of ['CORRUPT_MESSAGE', 'INVALID_TIMESTAMP'] as const) {
  test(`after ${error} the records are encoded anew, and are not refused`, async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_000 });
    const { cluster, producer } = openScene();
    const timestamps: bigint[] = [];
    cluster.fault = ({ bytes }) => {
      timestamps.push(bytes.readBigInt64BE(27));
      t.mock.timers.tick(1_000);
      return timestamps.length < 3 ? { error } : undefined;
    };
    await producer.send(series('a', 0, 0, 2));
    assert.deepEqual(timestamps, [1_000n, 2_000n, 3_000n]);
    assert.deepEqual(cluster.log('a', 0).values, ['0', '1']);
  });
}

for (const error of [
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
] as const) {
  test(`after ${error} that partition goes on in the next epoch, from number zero, and says so`, async () => {
    const { log, lines } = keptLog();
    const { cluster, producer } = openScene({ log });
    await producer.send(series('a', 0, 0, 5).concat(series('a', 1, 0, 5)));
    let answers = 0;
    cluster.fault = (_, __, partition) =>
      partition === 0 && answers++ === 0 ? { error } : undefined;
    await producer.send(series('a', 0, 5, 8).concat(series('a', 1, 5, 8)));
    await producer.send(series('a', 0, 8, 9).concat(series('a', 1, 8, 9)));
    assert.deepEqual(cluster.values('a').slice(0, 2), Array(2).fill(numbers(0, 9)));
    const { batches } = cluster.requests.at(-1) ?? { batches: [] };
    assert.deepEqual(
      batches.map(({ epoch, firstSequence }) => [epoch, firstSequence]),
      [
        [1, 3],
        [0, 8],
      ],
    );
    assert.equal(cluster.identities, 1);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', new RegExp(`${error}.*no longer has`));
  });
}

test('a log that was cut off, and knows only former numbers, takes what comes next', async () => {
  const { cluster, producer } = openScene();
  await producer.send(series('a', 0, 0, 5));
  await producer.send(series('a', 0, 5, 8));
  const log = cluster.log('a', 0);
  log.cutOff(5);
  await producer.send(series('a', 0, 8, 10));
  assert.deepEqual(log.values, [...numbers(0, 5), '8', '9']);
});

test('behind the last epoch comes another producer id', async () => {
  const { cluster, producer } = openScene();
  cluster.onIdentity = () => ({ id: 1_000 + cluster.identities, epoch: 32_767 });
  await producer.send(series('a', 0, 0, 2).concat(series('a', 1, 0, 2)));
  let answers = 0;
  cluster.fault = (_, __, partition) =>
    partition === 0 && answers++ === 0 ? { error: 'UNKNOWN_PRODUCER_ID' } : undefined;
  await producer.send(series('a', 0, 2, 4).concat(series('a', 1, 2, 4)));
  assert.deepEqual(cluster.values('a').slice(0, 2), Array(2).fill(numbers(0, 4)));
  assert.equal(cluster.identities, 2);
  assert.deepEqual(
    [0, 1].map((partition) => cluster.log('a', partition).producerIds),
    [['1001', '1002'], ['1001']],
  );
});

test('a topic that is made again under the same name gets what comes, in order and once', async () => {
  const { cluster, producer } = openScene({ partitions: 1 });
  await producer.send(series('a', 0, 0, 5));
  cluster.makeTopic('a', 1);
  await producer.send(series('a', 0, 5, 8));
  await producer.send(series('a', 0, 8, 9));
  assert.deepEqual(cluster.values('a'), [numbers(5, 9)]);
});

test('a producer id is asked for once, until there is one, and its lack is said', async () => {
  const { log, lines } = keptLog();
  const { cluster, producer } = openScene({ log });
  let mayWrite = false;
  let given = 0;
  cluster.onIdentity = () => {
    if (!mayWrite) throw new KafkaAnswerError('CLUSTER_AUTHORIZATION_FAILED', 'InitProducerId');
    given += 1;
    return { id: 5, epoch: 0 };
  };
  const sent: Promise<void>[] = [];
  for (const partition of [0, 1]) {
    const before = cluster.identities;
    sent.push(producer.send(series('a', partition, 0, 2)));
    await eventually(() => {
      assert.ok(cluster.identities > before);
    });
  }
  mayWrite = true;
  await Promise.all(sent);
  assert.equal(given, 1);
  assert.deepEqual(lines, [
    "Kafka returns no producer id; trying again: InitProducerId: CLUSTER_AUTHORIZATION_FAILED: Kafka's ACLs let this principal write to no topic",
  ]);
  assert.deepEqual(cluster.log('a', 1).producerIds, ['5']);
});

test('a record whose encoding fails keeps its partition only, and leaves nothing in front of another batch', async () => {
  const { cluster, producer } = openScene();
  let isBroken = true;
  let looks = 0;
  const headers = {
    get name() {
      // It was fine when it was measured.
      looks += 1;
      if (isBroken && looks > 1) throw new Error('no header today');
      return 'x';
    },
  };
  const failures: string[] = [];
  const waiting = producer.send([
    ...series('a', 0, 0, 2),
    { ...record('a', '2', 0), headers },
    ...series('a', 0, 3, 4),
  ]);
  await producer.send(series('a', 1, 0, 3));
  await producer.send(series('a', 1, 3, 5));
  assert.deepEqual(failures, []);
  assert.deepEqual(cluster.values('a'), [[], numbers(0, 5), [], []]);
  isBroken = false;
  await waiting;
  assert.deepEqual(cluster.values('a').slice(0, 2), [numbers(0, 4), numbers(0, 5)]);
});

for (const error of ['TOPIC_AUTHORIZATION_FAILED', 'KAFKA_STORAGE_ERROR', 'ERROR_999'] as const) {
  test(`${error} refuses nothing: the batch is sent again until it is written`, async () => {
    const { cluster, producer } = openScene();
    cluster.fault = () => (cluster.requests.length < 20 ? { error } : undefined);
    await producer.send(series('a', 0, 0, 4));
    assert.deepEqual(cluster.log('a', 0).values, numbers(0, 4));
    assert.equal(cluster.requests.length, 20);
  });
}

/** What may happen to a batch, or to a request. */
const troubles = [
  'none',
  'none',
  'none',
  'NOT_ENOUGH_REPLICAS',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'REQUEST_TIMED_OUT',
  'NOT_LEADER_FOR_PARTITION',
  'ERROR_999',
  'unanswered',
  'lost-request',
  'lost-answer',
  'move',
  'forget',
] as const;
const appending = ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'REQUEST_TIMED_OUT'];

test('whatever goes wrong, what was accepted is in the log exactly once and in order, and only culprits are refused', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(3), fc.nat(40), fc.nat(9)), { minLength: 1, maxLength: 60 }),
      fc.infiniteStream(fc.nat(troubles.length - 1)),
      fc.integer({ min: 5, max: 30 }),
      async (given, luck, largestBatch) => {
        const { cluster, producer } = openScene();
        let left = 60;
        const draw = (): (typeof troubles)[number] => {
          left -= 1;
          return left > 0 ? (troubles[luck.next().value as number] ?? 'none') : 'none';
        };
        const forgotten = new Set<number>();
        cluster.lose = () => {
          const trouble = draw();
          if (trouble === 'lost-request') return 'request';
          return trouble === 'lost-answer' ? 'answer' : undefined;
        };
        cluster.fault = (batch, topic, partition) => {
          if (batch.values.some((value) => value.endsWith('bad')))
            return { error: 'INVALID_RECORD' };
          if (batch.values.length > largestBatch) return { error: 'MESSAGE_TOO_LARGE' };
          const trouble = draw();
          if (trouble === 'unanswered') return 'unanswered';
          if (trouble === 'move') cluster.log(topic, partition).lead(1 + (left % 3));
          if (trouble === 'forget') {
            forgotten.add(partition);
            return { error: 'OUT_OF_ORDER_SEQUENCE_NUMBER' };
          }
          if (['none', 'move', 'lost-request', 'lost-answer'].includes(trouble)) return undefined;
          return { error: trouble as KafkaErrorName, afterAppend: appending.includes(trouble) };
        };
        const expected: string[][] = [[], [], [], []];
        const settled = new Map<string, boolean>();
        let next = 0;
        for (const [partition, count, gap] of given) {
          for (let i = 0; i < count; i += 1) {
            next += 1;
            const value = next % 37 === 0 ? `${next}bad` : String(next);
            if (!value.endsWith('bad')) expected[partition]?.push(value);
            producer.produce(record('a', value, partition), (refused) => {
              assert.equal(settled.has(value), false);
              settled.set(value, refused !== undefined);
            });
          }
          for (let turns = gap; turns > 0; turns -= 1) await setImmediate();
        }
        await producer.close(60_000);
        assert.equal(settled.size, next);
        for (const [value, isRefused] of settled) assert.equal(isRefused, value.endsWith('bad'));
        for (const [partition, values] of cluster.values('a').entries()) {
          // A partition that has forgotten the producer may hold a batch twice.
          const found = forgotten.has(partition) ? [...new Set(values)] : values;
          assert.deepEqual(found, expected[partition]);
        }
      },
    ),
    { numRuns: 150 },
  );
});

test('what follows a record that was written without an answer, and then refused, is written too', async () => {
  const { cluster, producer } = openScene();
  await producer.send([record('a', 'before', 0)]);
  let requests = 0;
  cluster.lose = ({ batches }) => {
    if (!batches.some((batch) => holds(batch, 'large'))) return undefined;
    requests += 1;
    return requests === 1 ? 'answer' : undefined;
  };
  // The new leader has a smaller limit.
  cluster.fault = (batch) =>
    holds(batch, 'large') && requests > 1 ? { error: 'MESSAGE_TOO_LARGE' } : undefined;
  await assert.rejects(producer.send([record('a', 'large', 0)]), { code: 'record-refused' });
  await producer.send([record('a', 'after', 0)]);
  assert.deepEqual(cluster.log('a', 0).values, ['before', 'large', 'after']);
});
