import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FetchRounds } from '../../../src/kafka/cluster/shared-fetches.ts';
import type {
  FetchAnswer,
  FetchedPartition,
  FetchRequest,
} from '../../../src/kafka/protocol/fetch.ts';
import { eventually } from '../../harness/eventually.ts';
import { passTime } from '../fetch/passing-time.ts';

/** A request that a broker has got. */
interface Round {
  readonly maxWaitMs: number;
  readonly topics: readonly string[];
  /** Answers all partitions; those of these topics bring records. */
  answer(...withRecords: readonly string[]): void;
  fail(): void;
}

interface Scene {
  readonly rounds: FetchRounds;
  readonly sent: readonly Round[];
  /** A reader of one topic. */
  readonly fetch: (topic: string, maxWaitMs?: number) => Promise<FetchAnswer>;
  readonly nextRound: (count: number) => Promise<Round>;
}

function scene(): Scene {
  const sent: Round[] = [];
  const rounds = new FetchRounds((request) => {
    const { promise, resolve, reject } = Promise.withResolvers<FetchAnswer>();
    const topics = request.topics.map(({ id }) => id);
    sent.push({
      maxWaitMs: request.maxWaitMs,
      topics,
      answer: (...withRecords) => {
        const partitions = topics.map((id) => partOf(id, withRecords.includes(id)));
        resolve({ error: 'NONE', throttleMs: 0, partitions });
      },
      fail: () => {
        reject(new Error('the connection is lost'));
      },
    });
    return promise;
  });
  const members = new Map<string, object>();
  return {
    rounds,
    sent,
    fetch: (topic, maxWaitMs = 60_000) => {
      const member = members.get(topic) ?? {};
      members.set(topic, member);
      return rounds.fetch(member, requestOf(topic, maxWaitMs));
    },
    nextRound: async (count) => {
      await eventually(() => {
        assert.equal(sent.length, count);
      });
      return sent[count - 1] ?? assert.fail();
    },
  };
}

function requestOf(id: string, maxWaitMs: number): FetchRequest {
  const position = { partition: 0, leaderEpoch: 0, offset: 0, lastEpoch: -1, maxBytes: 1_000 };
  return { maxWaitMs, maxBytes: 10_000, rack: '', topics: [{ id, partitions: [position] }] };
}

function partOf(topicId: string, hasRecords: boolean): FetchedPartition {
  return {
    topicId,
    partition: 0,
    error: 'NONE',
    highWatermark: 0,
    lastStableOffset: 0,
    aborted: [],
    preferredReplica: -1,
    diverging: undefined,
    records: Buffer.alloc(hasRecords ? 1 : 0),
  };
}

test('who has records is answered, and who has none stays in, round after round', async () => {
  const { fetch, nextRound } = scene();
  const quiet = fetch('quiet');
  const first = await nextRound(1);
  void fetch('busy');
  first.answer();
  for (let count = 2; count < 5; count += 1) {
    const round = await nextRound(count);
    assert.deepEqual(round.topics, ['quiet', 'busy']);
    round.answer('busy');
    void fetch('busy');
  }
  const last = await nextRound(5);
  last.answer('quiet', 'busy');
  assert.deepEqual(
    (await quiet).partitions.map(({ topicId }) => topicId),
    ['quiet'],
  );
});

test('a reader that was answered is waited for, and delays the others for a moment only', async () => {
  const { fetch, nextRound } = scene();
  void fetch('quiet');
  (await nextRound(1)).answer();
  const answered = fetch('busy');
  const second = await nextRound(2);
  second.answer('busy');
  await answered;
  const third = await nextRound(3);
  assert.deepEqual(third.topics, ['quiet']);
  // When it is back, it does not wait for what others wait for.
  assert.ok(third.maxWaitMs < 100, `the round would take ${third.maxWaitMs} ms`);
});

test('a reader is answered without records once its time is over', async () => {
  const { fetch, nextRound } = scene();
  void fetch('patient');
  const first = await nextRound(1);
  const hasty = fetch('hasty', 0);
  first.answer();
  const second = await nextRound(2);
  assert.equal(second.maxWaitMs, 0);
  second.answer();
  assert.deepEqual(
    (await hasty).partitions.map(({ topicId }) => topicId),
    ['hasty'],
  );
});

test('readers whose time is nearly over end in one round', async (t) => {
  const pass = passTime(t);
  const { fetch, nextRound } = scene();
  const early = fetch('early', 60_000);
  const first = await nextRound(1);
  pass(10_000);
  const late = fetch('late', 60_000);
  first.answer();
  const second = await nextRound(2);
  assert.deepEqual(second.topics, ['early', 'late']);
  pass(second.maxWaitMs);
  second.answer();
  await Promise.all([early, late]);
});

test('a reader that is closed is neither asked for nor waited for', async () => {
  const { rounds, nextRound } = scene();
  const closed = {};
  const staying = {};
  void rounds.fetch(staying, requestOf('a', 60_000));
  const first = await nextRound(1);
  void rounds.fetch(closed, requestOf('b', 60_000));
  rounds.forget(closed);
  first.answer();
  const second = await nextRound(2);
  assert.deepEqual(second.topics, ['a']);
  assert.ok(second.maxWaitMs > 50_000);
});

test('two readers of one topic take turns, because a request names a partition once', async () => {
  const { rounds, nextRound } = scene();
  const [one, other] = [{}, {}];
  const first = rounds.fetch(one, requestOf('a', 60_000));
  (await nextRound(1)).answer('a');
  await first;
  void rounds.fetch(one, requestOf('a', 60_000));
  const second = await nextRound(2);
  const waiting = rounds.fetch(other, requestOf('a', 60_000));
  second.answer();
  const third = await nextRound(3);
  assert.deepEqual(third.topics, ['a']);
  assert.ok(third.maxWaitMs < 100);
  third.answer('a');
  (await nextRound(4)).answer('a');
  await waiting;
});

test('a lost connection is told to all who were in the round', async () => {
  const { fetch, nextRound } = scene();
  const first = fetch('a');
  (await nextRound(1)).fail();
  await assert.rejects(first, /lost/);
  const again = fetch('a');
  (await nextRound(2)).answer('a');
  await again;
});
