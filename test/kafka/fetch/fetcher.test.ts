import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Cursor } from '../../../src/kafka/fetch/cursor.ts';
import { eventually } from '../../harness/eventually.ts';
import { fetches, reading, topic, until } from './fetch-scene.ts';

describe('reading partitions', { concurrency: true }, () => {
  test('each broker is asked for what it leads, and its records are handed over in order', async (t) => {
    const { brokers, logs, owner, cursors } = reading(t, 4, {
      write: ({ topics }) => {
        for (const log of topics.get(topic)?.partitions ?? []) log.append('a', 'b');
      },
    });
    logs[3]?.append('c');
    await until(owner, { 0: 'a b', 1: 'a b', 2: 'a b', 3: 'a b c' });
    assert.deepEqual([...new Set(fetches(brokers))].toSorted(), ['1: 0,3', '2: 1', '3: 2']);
    assert.deepEqual(
      cursors.map(({ offset }) => offset),
      [2, 2, 2, 3],
    );
  });

  test('a partition that its owner pauses is not asked for, and its neighbours are', async (t) => {
    const { brokers, logs, owner, fetcher, cursors } = reading(t, 4);
    const [paused] = cursors;
    if (paused === undefined) return;
    fetcher.pause(paused);
    for (const each of logs) each.append('a');
    await until(owner, { 3: 'a' });
    const before = fetches(brokers).length;
    await eventually(() => {
      assert.ok(fetches(brokers).slice(before).includes('1: 3'));
    });
    assert.equal(owner.of(0), '');
    fetcher.resume(paused);
    await until(owner, { 0: 'a' });
  });

  test('while there is no room for records nothing is asked for, and once there is they come', async (t) => {
    let hasRoom = false;
    let questions = 0;
    const { brokers, logs, owner } = reading(t, 2, {
      mayAsk: () => {
        questions += 1;
        return hasRoom;
      },
    });
    for (const log of logs) log.append('a');
    await eventually(() => {
      assert.ok(questions > 10);
    }, 5_000);
    assert.equal(brokers.count('Fetch'), 0);
    hasRoom = true;
    await until(owner, { 0: 'a', 1: 'a' });
  });

  test('what was brought when its owner paused is kept, and no byte of it is fetched twice', async (t) => {
    const { brokers, logs, owner, fetcher, cursors } = reading(t, 1);
    const values = Array.from({ length: 1_000 }, (_, i) => String(i));
    owner.onTaken = (cursor) => {
      fetcher.pause(cursor);
    };
    logs[0]?.append(...values);
    const [cursor] = cursors;
    if (cursor === undefined) return;
    await eventually(() => {
      if (cursor.isPaused) fetcher.resume(cursor);
      assert.equal(owner.of(0), values.join(' '));
    });
    assert.equal(brokers.fetchedBytes, logs[0]?.bytes);
    assert.equal(cursor.offset, 1_000);
  });

  test('who takes much at once lets others have a turn between', async (t) => {
    const { logs, owner } = reading(t, 1);
    const values = Array.from({ length: 1_000 }, (_, i) => i);
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (owner.of(0).split(' ').length < 1_000) setImmediate(count);
    };
    owner.onTaken = () => {
      if (turns === 0) setImmediate(count);
    };
    logs[0]?.append(...values);
    await until(owner, { 0: values.join(' ') });
    assert.ok(Math.max(...owner.stretches) <= 128, `${Math.max(...owner.stretches)} at once`);
    assert.ok(turns >= 6, `${turns} turns`);
  });

  test('a partition that fills every answer of its broker leaves its neighbour a turn', async (t) => {
    const { logs, owner } = reading(t, 4, {
      write: ({ topics }) => {
        for (const log of topics.get(topic)?.partitions ?? []) {
          log.append('a');
          // An answer has room for one batch.
          const fetch = log.fetch.bind(log);
          log.fetch = (position, _, isFirst) => fetch(position, 1, isFirst);
        }
      },
    });
    owner.onTaken = ({ partition }) => {
      if (partition === 0) logs[0]?.append('a');
    };
    await until(owner, { 3: 'a' });
  });

  test('brokers that answer in turn leave each of their partitions a turn', async (t) => {
    const partitions = Array.from({ length: 9 }, (_, partition) => partition);
    const answered: number[] = [];
    const { logs, owner } = reading(t, partitions.length, {
      write: (brokers) => {
        for (const log of brokers.topics.get(topic)?.partitions ?? []) {
          log.append('a');
          // An answer has room for one batch.
          const fetch = log.fetch.bind(log);
          log.fetch = (position, _, isFirst) => fetch(position, 1, isFirst);
        }
        // One after the other.
        brokers.after = async ({ api, nodeId }) => {
          if (api !== 'Fetch') return;
          while (answered.length % 3 !== nodeId - 1) await nextTurn();
          answered.push(nodeId);
        };
      },
    });
    // The first of each broker.
    owner.onTaken = ({ partition }) => {
      if (partition < 3) logs[partition]?.append('a');
    };
    await until(owner, Object.fromEntries(partitions.slice(3).map((each) => [each, 'a'])));
  });

  test('of partitions with backlog, those that an answer had no room for are in the next one', async (t) => {
    const ofOneBroker = 20;
    const roomBatches = 5;
    const answerBytes = 10 * 1024 * 1024;
    const { brokers, logs, owner } = reading(t, 3 * ofOneBroker, {
      write: ({ topics }) => {
        for (const log of topics.get(topic)?.partitions ?? []) {
          log.append('a');
          const usedBytes = answerBytes - roomBatches * log.bytes;
          const fetch = log.fetch.bind(log);
          log.fetch = (position, leftBytes, isFirst) =>
            fetch(position, leftBytes - usedBytes, isFirst);
        }
      },
    });
    const askedUntilRead = new Map<number, number>();
    owner.onTaken = ({ partition }) => {
      if (partition % 3 === 0 && !askedUntilRead.has(partition))
        askedUntilRead.set(
          partition,
          fetches(brokers).filter((each) => each.startsWith('1:')).length,
        );
      logs[partition]?.append('a');
    };
    await eventually(() => {
      assert.equal(askedUntilRead.size, ofOneBroker);
    });
    assert.equal(Math.max(...askedUntilRead.values()), ofOneBroker / roomBatches);
  });

  test('an answer for a partition that was given up meanwhile is dropped', async (t) => {
    const { brokers, logs, owner, fetcher, cursors } = reading(t, 4);
    const [given] = cursors;
    const answered = Promise.withResolvers<undefined>();
    brokers.after = ({ api, nodeId }) =>
      api === 'Fetch' && nodeId === 1 ? answered.promise : null;
    for (const log of logs) log.append('a');
    await until(owner, { 1: 'a', 2: 'a' });
    if (given !== undefined) fetcher.remove(given);
    answered.resolve(undefined);
    await until(owner, { 3: 'a' });
    assert.equal(owner.of(0), '');
  });

  test('a partition that is given up while it is handed over brings nothing more', async (t) => {
    const { logs, owner, fetcher } = reading(t, 1);
    owner.onTaken = (cursor) => {
      fetcher.remove(cursor);
    };
    logs[0]?.append(...Array.from({ length: 1_000 }, (_, i) => i));
    await eventually(() => {
      assert.equal(owner.values.get(0)?.length, 128);
    });
  });

  test('a batch that is larger than what may be fetched of a partition is brought all the same', async (t) => {
    const { logs, owner, cursors, fetcher } = reading(t, 4);
    for (const cursor of cursors) fetcher.remove(cursor);
    for (const [partition, log] of logs.entries()) {
      for (const value of ['a', 'b', 'c']) log.append(value.repeat(500), value);
      fetcher.add(new Cursor({ topic, partition }, 0, 100));
    }
    const [a, b, c] = ['a', 'b', 'c'].map((value) => `${value.repeat(500)} ${value}`);
    const all = `${a} ${b} ${c}`;
    await until(owner, { 0: all, 1: all, 2: all, 3: all });
  });

  test('an end is reached by an answer that says so, and counts from when it was asked for', async (t) => {
    const { brokers, logs, owner } = reading(t, 2);
    const beforeMs = performance.now();
    await eventually(() => {
      assert.ok((owner.reachedAtMs.get(0) ?? 0) >= beforeMs);
    });
    brokers.nodes.set(1, 'hangs');
    logs[0]?.append('a');
    await eventually(() => {
      assert.ok((owner.reachedAtMs.get(1) ?? 0) > performance.now() - 50);
    });
    const [hanging, well] = [owner.reachedAtMs.get(0) ?? 0, owner.reachedAtMs.get(1) ?? 0];
    assert.ok(hanging < well);
  });

  test('an end that is told late is as old as the question', async (t) => {
    const { brokers, owner } = reading(t, 1);
    brokers.after = ({ api }) => (api === 'Fetch' ? delay(100) : undefined);
    await eventually(() => {
      assert.ok(owner.reachedAfterMs.length >= 2);
    });
    const earliestMs = Math.min(...owner.reachedAfterMs);
    assert.ok(earliestMs >= 99, `${earliestMs} ms`);
  });

  test('records that end the log are an end themselves', async (t) => {
    const { logs, owner, brokers } = reading(t, 1, { maxWaitMs: () => 10_000 });
    logs[0]?.append('a');
    await eventually(() => {
      assert.equal(owner.of(0), 'a');
      assert.ok(owner.reachedAtMs.has(0));
    });
    assert.ok(brokers.count('Fetch') <= 2);
  });

  test('what may come late is asked for five times a second while it brings nothing', async (t) => {
    const { brokers, logs, owner } = reading(t, 2, {
      mayComeLate: () => true,
      maxWaitMs: () => 1,
    });
    const startMs = performance.now();
    await eventually(() => {
      assert.ok(fetches(brokers).filter((each) => each === '1: 0').length >= 5);
    });
    const tookMs = performance.now() - startMs;
    // Four times 200 ms lie between five of them.
    assert.ok(tookMs > 700, `${tookMs} ms`);
    logs[0]?.append('a');
    await until(owner, { 0: 'a' });
  });

  test('after it is closed nothing is handed over and nobody is asked', async (t) => {
    const { brokers, logs, owner, fetcher } = reading(t, 2);
    logs[0]?.append('a');
    await until(owner, { 0: 'a' });
    fetcher.close();
    logs[0]?.append('b');
    const before = brokers.asked.length;
    const startMs = performance.now();
    await eventually(() => {
      assert.ok(performance.now() - startMs > 100);
    });
    assert.equal(owner.of(0), 'a');
    assert.equal(brokers.asked.length, before);
  });
});

test('a broker is asked once in a while when nothing is wanted of it', async (t) => {
  const { brokers, fetcher, cursors } = reading(t, 1, { maxWaitMs: () => 0 });
  for (const cursor of cursors) fetcher.pause(cursor);
  await eventually(() => {
    assert.equal(cursors[0]?.isAsked, false);
  });
  const usedMs = process.cpuUsage();
  const startMs = performance.now();
  const before = brokers.count('Fetch');
  await eventually(() => {
    assert.ok(performance.now() - startMs > 500);
  });
  assert.equal(brokers.count('Fetch'), before);
  const { user } = process.cpuUsage(usedMs);
  assert.ok(user < 250_000, `${user / 1_000} ms of CPU time`);
});

test('a partition that is wanted again is asked for at once, however long its broker was left alone', async (t) => {
  const { logs, owner, fetcher, cursors } = reading(t, 1);
  const [cursor] = cursors;
  if (cursor === undefined) return;
  const waitedMs: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    fetcher.pause(cursor);
    // Longer than a fetch that is under way, which would bring it.
    await delay(50);
    logs[0]?.append(n);
    const fromMs = performance.now();
    fetcher.resume(cursor);
    await until(owner, { 0: Array.from({ length: n + 1 }, (_, each) => each).join(' ') });
    waitedMs.push(performance.now() - fromMs);
  }
  assert.ok(Math.min(...waitedMs) < 100, waitedMs.join());
});

test('who says how long a fetch waits knows how many partitions would have to wait for its end', async (t) => {
  const leftOut: number[] = [];
  const { fetcher, cursors } = reading(t, 4, {
    maxWaitMs: ([first], left) => {
      if (first?.leader === 1) leftOut.push(left);
      return 5;
    },
  });
  await eventually(() => {
    assert.equal(leftOut.at(-1), 0);
  });
  if (cursors[0] !== undefined) fetcher.pause(cursors[0]);
  await eventually(() => {
    assert.equal(leftOut.at(-1), 1);
  });
});
