import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { earliestTime, latestTime, type Cluster } from '../../../src/kafka/cluster/cluster.ts';
import { Coordinator, type JoinAnswer } from '../../../src/kafka/consume/coordinator.ts';
import { encodeBatch } from '../../../src/kafka/protocol/batch-writer.ts';
import type { FetchedPartition } from '../../../src/kafka/protocol/fetch.ts';
import type { ProducedPartition } from '../../../src/kafka/protocol/produce.ts';
import { uncompressed } from '../../kafka/uncompressed.ts';
import { eventually } from '../eventually.ts';

/** A Kafka of one node, in memory or a real one. */
export interface ContractKafka {
  openCluster(): Cluster;
  /** What the names of topics and groups begin with. */
  readonly prefix: string;
  makeTopic(
    name: string,
    partitions: number,
    config: Readonly<Record<string, string>>,
  ): Promise<unknown>;
  deleteTopic(name: string): Promise<unknown>;
  removeBefore(topic: string, partition: number, offset: number): Promise<unknown>;
}

const nobody = { producerId: -1, epoch: -1, sequence: -1 };
const createTime = { 'message.timestamp.type': 'CreateTime' };
const rebalanceMs = 10_000;
const noneCommitted = { offset: -1, metadata: '', error: 'NONE' };

interface Wanted {
  /** The topic's id. */
  readonly id?: string;
  /** By partition. */
  readonly offsets?: Readonly<Record<number, number>>;
  readonly maxWaitMs?: number;
  readonly maxBytes?: number;
  readonly partitionBytes?: number;
  readonly leaderEpoch?: number;
  readonly lastEpoch?: number;
}

/** A topic, and somebody who asks about it as producers and readers do. */
class Asker {
  readonly cluster: Cluster;
  readonly topic: string;
  /** It writes over connections of its own: a broker answers what came before a fetch first. */
  readonly #writer: Cluster;
  readonly #kafka: ContractKafka;

  constructor(t: TestContext, kafka: ContractKafka, topic: string) {
    this.#kafka = kafka;
    this.cluster = kafka.openCluster();
    this.#writer = kafka.openCluster();
    this.topic = `${kafka.prefix}${topic}`;
    t.after(() => {
      this.cluster.close();
      this.#writer.close();
    });
  }

  static async ofNew(
    t: TestContext,
    kafka: ContractKafka,
    topic: string,
    config: Readonly<Record<string, string>> = createTime,
  ): Promise<Asker> {
    const asker = new Asker(t, kafka, topic);
    await asker.make(2, config);
    return asker;
  }

  /** Resolves with the topic's id once all its partitions have a leader. */
  async make(
    partitions: number,
    config: Readonly<Record<string, string>> = createTime,
  ): Promise<string> {
    await this.#kafka.makeTopic(this.topic, partitions, config);
    return eventually(async () => {
      await this.cluster.refresh([this.topic]);
      const known = this.cluster.topic(this.topic);
      assert.equal(known?.partitions.length, partitions);
      // A leader may have been named before it knows that it is one.
      for (const partition of known.partitions.keys())
        assert.equal(await this.listed(latestTime, partition), 'NONE 0');
      return known.id;
    });
  }

  get id(): string {
    return this.cluster.topic(this.topic)?.id ?? '';
  }

  get leader(): number {
    return this.cluster.topic(this.topic)?.partitions[0]?.leader ?? -1;
  }

  /** One batch of so many records of 100 bytes, with that time. */
  async write(
    count: number,
    { partition = 0, origin = nobody, timeMs = Date.now() } = {},
  ): Promise<ProducedPartition> {
    const records = Array.from({ length: count }, () => ({ value: 'x'.repeat(100) }));
    const batch = encodeBatch(records, origin, uncompressed, timeMs);
    const topics = [{ topic: this.topic, partitions: [{ partition, batch }] }];
    await this.#writer.refresh([this.topic]);
    const [answer] = await this.#writer.produce(this.leader, { timeoutMs: 5_000, topics });
    assert.ok(answer !== undefined);
    return answer;
  }

  async fetch(wanted: Wanted = {}): Promise<FetchedPartition[]> {
    const { id = this.id, offsets = { 0: 0 }, maxWaitMs = 0 } = wanted;
    const { maxBytes = 1e6, partitionBytes = 1e6, leaderEpoch = -1, lastEpoch = -1 } = wanted;
    const partitions = Object.entries(offsets).map(([partition, offset]) => ({
      partition: Number(partition),
      offset,
      maxBytes: partitionBytes,
      leaderEpoch,
      lastEpoch,
    }));
    const request = { maxWaitMs, maxBytes, rack: '', topics: [{ id, partitions }] };
    const answer = await this.cluster.fetch(this.leader, request);
    assert.equal(answer.error, 'NONE');
    return answer.partitions.toSorted((a, b) => a.partition - b.partition);
  }

  async errorOf(asked: Wanted): Promise<string | undefined> {
    return (await this.fetch(asked))[0]?.error;
  }

  async listed(timeMs: number, partition: number = 0): Promise<string> {
    const request = { topic: this.topic, partitions: [partition], timeMs };
    const [listed] = await this.cluster.listOffsets(this.leader, request);
    return `${listed?.error ?? ''} ${listed?.offset ?? ''}`;
  }
}

/** What production code relies on, and tests on brokers in memory with it. */
export function describeKafka(kafka: ContractKafka): void {
  describe('what is asked of Kafka', { concurrency: true }, () => {
    test('a topic that is not there says so until it is, and has another id when it is made again', async (t) => {
      const asker = new Asker(t, kafka, 'again');
      const { cluster, topic } = asker;
      await cluster.refresh([topic]);
      assert.deepEqual(
        [cluster.topic(topic), cluster.topicError(topic)],
        [undefined, 'UNKNOWN_TOPIC_OR_PARTITION'],
      );
      const former = await asker.make(3);
      assert.equal(cluster.topicError(topic), undefined);
      const group = new Coordinator(cluster, `${topic}-group`);
      const place = { topic, partition: 0 };
      await eventually(async () => {
        const commit = { ...place, offset: 0, metadata: 'm' };
        const [answer] = await group.commit({ memberId: '', generation: -1 }, [commit]);
        assert.equal(answer?.error, 'NONE');
      });
      await kafka.deleteTopic(topic);
      await eventually(async () => {
        await cluster.refresh([topic]);
        assert.equal(cluster.topic(topic), undefined);
      });
      assert.notEqual(await asker.make(1), former);
      assert.equal(await asker.errorOf({ id: former }), 'UNKNOWN_TOPIC_ID');
      await eventually(async () => {
        assert.deepEqual(await group.committed([place]), [{ ...place, ...noneCommitted }]);
      });
    });

    test('each batch of a producer is appended once, in the order of its sequence numbers', async (t) => {
      const asker = await Asker.ofNew(t, kafka, 'sequences');
      const { id } = await eventually(() => asker.cluster.initProducerId());
      const write = async (epoch: number, sequence: number, count = 1): Promise<string> => {
        const origin = { producerId: id, epoch, sequence };
        const { error, baseOffset } = await asker.write(count, { origin });
        return error === 'NONE' ? String(baseOffset) : error;
      };
      const answers: string[] = [];
      for (const [epoch, sequence, count] of [
        // One that nothing is known of may begin anywhere.
        [0, 7, 3],
        [0, 10, 1],
        [0, 10, 1],
        [0, 7, 3],
        [0, 12, 1],
        [0, 10, 2],
        [1, 3, 1],
        [1, 0, 1],
        [0, 11, 1],
        ...[1, 2, 3, 4, 5].map((sequence) => [1, sequence, 1] as const),
        // One before the last five is not remembered.
        [1, 0, 1],
        [1, 1, 1],
      ] as const)
        answers.push(await write(epoch, sequence, count));
      assert.deepEqual(answers, [
        '0',
        '3',
        '3',
        '0',
        'OUT_OF_ORDER_SEQUENCE_NUMBER',
        'OUT_OF_ORDER_SEQUENCE_NUMBER',
        'OUT_OF_ORDER_SEQUENCE_NUMBER',
        '4',
        'INVALID_PRODUCER_EPOCH',
        ...['5', '6', '7', '8', '9'],
        'OUT_OF_ORDER_SEQUENCE_NUMBER',
        '5',
      ]);
    });

    test('what is written says when it was appended only where brokers stamp it', async (t) => {
      const kept = await Asker.ofNew(t, kafka, 'kept');
      assert.equal((await kept.write(1)).appendedMs, undefined);
      const stamped = await Asker.ofNew(t, kafka, 'stamped', {
        'message.timestamp.type': 'LogAppendTime',
      });
      const beforeMs = Date.now();
      const { appendedMs = 0 } = await stamped.write(1, { timeMs: 1_000 });
      assert.ok(appendedMs >= beforeMs - 1_000 && appendedMs <= Date.now() + 1_000);
      assert.equal((await kept.write(1, { partition: 7 })).error, 'UNKNOWN_TOPIC_OR_PARTITION');
    });

    test('an answer has as many bytes as were asked for, and at least one batch', async (t) => {
      const asker = await Asker.ofNew(t, kafka, 'sizes');
      for (const partition of [0, 1])
        for (let n = 0; n < 3; n += 1) await asker.write(2, { partition });
      const [all] = await asker.fetch();
      assert.ok(all !== undefined);
      assert.deepEqual([all.highWatermark, all.lastStableOffset], [6, 6]);
      const batchBytes = all.records.length / 3;
      const half = Math.round(batchBytes / 2);
      const bytes = async (asked: Wanted): Promise<number[]> =>
        (await asker.fetch(asked)).map(({ records }) => records.length);
      // The batch with an offset comes from its first record on.
      assert.deepEqual(await bytes({ offsets: { 0: 3 } }), [2 * batchBytes]);
      assert.deepEqual(await bytes({ partitionBytes: batchBytes + half }), [batchBytes + half]);
      assert.deepEqual(await bytes({ partitionBytes: half }), [batchBytes]);
      const offsets = { 0: 0, 1: 0 };
      const five = await bytes({ offsets, maxBytes: batchBytes * 5 });
      assert.deepEqual(five, [3 * batchBytes, 2 * batchBytes]);
      // Only the first batch of an answer comes where it does not fit.
      assert.deepEqual(await bytes({ offsets, partitionBytes: half }), [batchBytes, 0]);
    });

    test('a fetch that finds nothing waits for what is written', { timeout: 60_000 }, async (t) => {
      const asker = await Asker.ofNew(t, kafka, 'wait');
      const [nothing] = await asker.fetch({ maxWaitMs: 20 });
      assert.deepEqual([nothing?.error, nothing?.records.length], ['NONE', 0]);
      const waiting = asker.fetch({ maxWaitMs: 300_000 });
      await asker.write(1);
      assert.ok(((await waiting)[0]?.records.length ?? 0) > 0);
    });

    test('each partition of a fetch has an error of its own', async (t) => {
      const asker = await Asker.ofNew(t, kafka, 'errors');
      await asker.write(2);
      const answer = await asker.fetch({ offsets: { 0: 3, 1: 0, 7: 0 } });
      assert.deepEqual(
        answer.map(({ partition, error }) => `${partition} ${error}`),
        ['0 OFFSET_OUT_OF_RANGE', '1 NONE', '7 UNKNOWN_TOPIC_OR_PARTITION'],
      );
      assert.equal(await asker.errorOf({ id: 'f'.repeat(32) }), 'UNKNOWN_TOPIC_ID');
    });

    test('who has read another log is told where it ends, and who knows another leader, which it is', async (t) => {
      const asker = await Asker.ofNew(t, kafka, 'epochs');
      await asker.write(3);
      assert.equal(await asker.errorOf({ leaderEpoch: 5 }), 'UNKNOWN_LEADER_EPOCH');
      const [diverging] = await asker.fetch({ offsets: { 0: 5 }, lastEpoch: 0 });
      assert.deepEqual(
        [diverging?.error, diverging?.diverging, diverging?.records.length],
        ['NONE', { epoch: 0, endOffset: 3 }, 0],
      );
      assert.equal(await asker.errorOf({ lastEpoch: 4 }), 'OFFSET_OUT_OF_RANGE');
      const end = async (
        partition: number,
        leaderEpoch: number,
        epoch: number,
      ): Promise<string> => {
        const place = { topic: asker.topic, partition };
        const answer = await asker.cluster.epochEnd(asker.leader, { ...place, leaderEpoch, epoch });
        return `${answer.error} ${answer.epoch} ${answer.endOffset}`;
      };
      assert.equal(await end(0, -1, 0), 'NONE 0 3');
      assert.equal(await end(0, 0, 4), 'NONE -1 -1');
      assert.equal(await end(0, 5, 0), 'UNKNOWN_LEADER_EPOCH -1 -1');
      assert.equal(await end(7, -1, 0), 'UNKNOWN_TOPIC_OR_PARTITION -1 -1');
    });

    test('where a log begins and ends is told, and where it is at a time', async (t) => {
      const asker = await Asker.ofNew(t, kafka, 'offsets');
      for (const timeMs of [1_000, 2_000, 3_000]) await asker.write(1, { timeMs });
      assert.deepEqual(
        await Promise.all([earliestTime, latestTime, 1_500, 9_000].map((ms) => asker.listed(ms))),
        ['NONE 0', 'NONE 3', 'NONE 1', 'NONE -1'],
      );
      assert.equal(await asker.listed(latestTime, 1), 'NONE 0');
      assert.equal(await asker.listed(latestTime, 7), 'UNKNOWN_TOPIC_OR_PARTITION -1');
      await kafka.removeBefore(asker.topic, 0, 2);
      assert.equal(await asker.listed(earliestTime), 'NONE 2');
      assert.equal(await asker.errorOf({ offsets: { 0: 1 } }), 'OFFSET_OUT_OF_RANGE');
      assert.equal(await asker.errorOf({ offsets: { 0: 2 } }), 'NONE');
    });

    test('members join a group, are assigned what their leader says, and commit as members', async (t) => {
      const [a, b] = [await Asker.ofNew(t, kafka, 'group'), new Asker(t, kafka, 'group')];
      const [first, second] = [a, b].map(
        ({ cluster }) => new Coordinator(cluster, `${kafka.prefix}group`),
      ) as [Coordinator, Coordinator];
      const join = (group: Coordinator, memberId: string): Promise<JoinAnswer> =>
        group.join({
          memberId,
          sessionTimeoutMs: 30_000,
          rebalanceTimeoutMs: rebalanceMs,
          protocols: [{ name: 'p', metadata: Buffer.from('m') }],
        });
      const commit = async (
        member: { readonly memberId: string; readonly generation: number },
        { metadata = 'm', partition = 0 } = {},
      ): Promise<string | undefined> => {
        const place = { topic: a.topic, partition };
        return (await first.commit(member, [{ ...place, offset: 1, metadata }]))[0]?.error;
      };
      const outsider = { memberId: '', generation: -1 };
      const told = await eventually(async () => {
        const answer = await join(first, '');
        assert.equal(answer.error, 'MEMBER_ID_REQUIRED');
        return answer;
      });
      const { memberId, generation, ...joined } = await join(first, told.memberId);
      assert.deepEqual(joined, {
        error: 'NONE',
        protocol: 'p',
        isLeader: true,
        members: [{ memberId: told.memberId, metadata: Buffer.from('m') }],
      });
      const alone = { memberId, generation };
      assert.equal(await commit(alone), 'REBALANCE_IN_PROGRESS');
      const assign = (ids: readonly string[]) =>
        ids.map((id) => ({ memberId: id, memberAssignment: Buffer.from(id) }));
      const synced = await first.sync(alone, assign([memberId]), rebalanceMs);
      assert.deepEqual(synced, { error: 'NONE', assignment: Buffer.from(memberId) });
      assert.deepEqual(
        [
          await first.heartbeat(alone),
          await first.heartbeat({ memberId, generation: generation + 1 }),
          await first.heartbeat({ memberId: 'x', generation }),
          await commit(alone),
          await commit({ memberId, generation: generation - 1 }),
          await commit(outsider),
          await commit(alone, { metadata: 'x'.repeat(4_097) }),
          await commit(alone, { partition: 7 }),
          (await join(second, 'x')).error,
        ],
        [
          'NONE',
          'ILLEGAL_GENERATION',
          'UNKNOWN_MEMBER_ID',
          'NONE',
          'ILLEGAL_GENERATION',
          'UNKNOWN_MEMBER_ID',
          'OFFSET_METADATA_TOO_LARGE',
          'UNKNOWN_TOPIC_OR_PARTITION',
          'UNKNOWN_MEMBER_ID',
        ],
      );
      const places = [0, 1].map((partition) => ({ topic: a.topic, partition }));
      const committed = await first.committed(places);
      assert.deepEqual(
        committed.toSorted((x, y) => x.partition - y.partition),
        [
          { ...places[0], offset: 1, metadata: 'm', error: 'NONE' },
          { ...places[1], ...noneCommitted },
        ],
      );

      const { memberId: other } = await join(second, '');
      const joining = join(second, other);
      await eventually(async () => {
        assert.equal(await first.heartbeat(alone), 'REBALANCE_IN_PROGRESS');
      });
      assert.equal(await commit(alone), 'NONE');
      const [again, late] = await Promise.all([join(first, memberId), joining]);
      assert.deepEqual(
        [again.isLeader, again.members.length, late.isLeader, late.members.length],
        [true, 2, false, 0],
      );
      assert.deepEqual([again.generation, late.generation], [generation + 1, generation + 1]);
      const [leading, following] = await Promise.all([
        first.sync(again, assign([memberId, other]), rebalanceMs),
        second.sync(late, [], rebalanceMs),
      ]);
      assert.deepEqual(
        [leading, following].map(({ assignment }) => String(assignment)),
        [memberId, other],
      );
      await second.leave(late);
      assert.equal(await second.heartbeat(late), 'UNKNOWN_MEMBER_ID');
      assert.equal(await first.heartbeat(again), 'REBALANCE_IN_PROGRESS');
      await first.leave(again);
      assert.equal(await commit(outsider), 'NONE');
    });
  });
}
