import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Cursor } from '../../../src/kafka/fetch/cursor.ts';
import { eventually } from '../../harness/eventually.ts';
import { maxBytes, reading, topic, until } from './fetch-scene.ts';
import { passTime } from './passing-time.ts';

describe('troubles of one partition, or of a broker', { concurrency: true }, () => {
  test('what has a new leader is asked of that one, and nothing is repeated', async (t) => {
    const { logs, owner } = reading(t, 2);
    logs[0]?.append('a');
    await until(owner, { 0: 'a' });
    logs[0]?.lead(2);
    logs[0]?.append('b');
    await until(owner, { 0: 'a b' });
  });

  test('a partition without a leader leaves the others alone, and is read when it has one', async (t) => {
    const { brokers, logs, owner } = reading(t, 4, {
      write: (fake) => {
        fake.log(topic, 0).lead(-1);
      },
    });
    for (const log of logs) log.append('a');
    await until(owner, { 1: 'a', 2: 'a', 3: 'a' });
    assert.equal(owner.of(0), '');
    logs[0]?.lead(2);
    await until(owner, { 0: 'a' });
    assert.ok(brokers.count('Metadata') < 20, `${brokers.count('Metadata')} refreshes`);
  });

  test('an error of one partition leaves what came with it alone, and is asked for again', async (t) => {
    const { logs, owner, log } = reading(t, 4);
    const [bad] = logs;
    if (bad === undefined) return;
    bad.fetchError = 'UNKNOWN_SERVER_ERROR';
    for (const each of logs) each.append('a');
    // Partition 3 is in the same answers.
    await until(owner, { 3: 'a' });
    logs[3]?.append('b');
    await until(owner, { 3: 'a b' });
    assert.equal(owner.of(0), '');
    assert.match(log.visible.join(), /partition 0 of topic: UNKNOWN_SERVER_ERROR/);
    bad.fetchError = undefined;
    await until(owner, { 0: 'a' });
    assert.equal(log.visible.length, 1);
  });

  test('a batch whose length is damaged is one that cannot be read, and not nothing', async (t) => {
    const { logs, owner } = reading(t, 4);
    logs[0]?.append('a');
    logs[0]?.append('b');
    const lengthAt = 8;
    logs[0]?.damage(1, lengthAt);
    await until(owner, { 0: 'a' });
    await eventually(() => {
      assert.deepEqual(owner.told, ['0 stuck at 1']);
    });
    assert.match(owner.problems.join(), /length/);
    logs[3]?.append('x');
    await until(owner, { 3: 'x' });
  });

  test('a position behind the log’s start moves to its start, and its neighbours are read meanwhile', async (t) => {
    const asked = Promise.withResolvers<undefined>();
    const { brokers, logs, owner } = reading(t, 4, {
      write: (fake) => {
        fake.log(topic, 0).append('a');
        fake.log(topic, 0).append('b');
        fake.log(topic, 0).removeBefore(1);
      },
    });
    brokers.before = ({ api }) => (api === 'ListOffsets' ? asked.promise : undefined);
    await eventually(() => {
      assert.ok(brokers.count('ListOffsets') > 0);
    });
    logs[3]?.append('x');
    await until(owner, { 3: 'x' });
    logs[3]?.append('y');
    await until(owner, { 3: 'x y' });
    assert.equal(owner.of(0), '');
    asked.resolve(undefined);
    await until(owner, { 0: 'b' });
    assert.deepEqual(owner.told, ['0 removed 0→1']);
  });

  test('a log that was cut off is read on where it went another way', async (t) => {
    const { logs, owner, cursors } = reading(t, 1);
    logs[0]?.append('a', 'b');
    logs[0]?.append('c', 'd');
    await until(owner, { 0: 'a b c d' });
    logs[0]?.cutOff(2, 2);
    logs[0]?.append('e', 'f', 'g', 'h', 'i');
    await until(owner, { 0: 'a b c d e f g h i' });
    assert.deepEqual(owner.told, ['0 cut-off 4→2']);
    assert.equal(cursors[0]?.lastEpoch, 1);
  });

  test('a position beyond the end is settled at the end where nothing is known of its epoch', async (t) => {
    const { logs, owner, fetcher, brokers } = reading(t, 2);
    logs[1]?.append('a', 'b');
    await until(owner, { 1: 'a b' });
    const beyond = new Cursor({ topic, partition: 0 }, 50, maxBytes);
    fetcher.add(beyond);
    await eventually(() => {
      assert.deepEqual(owner.told, ['0 cut-off 50→0']);
    });
    assert.equal(brokers.count('OffsetForLeaderEpoch'), 0);
  });

  test('a position of a leader later than all that brokers know of is settled once several have said so', async (t) => {
    const { brokers, logs, owner, fetcher, cursors } = reading(t, 1);
    for (const cursor of cursors) fetcher.remove(cursor);
    logs[0]?.append('a', 'b');
    fetcher.add(new Cursor({ topic, partition: 0 }, 50, maxBytes, 7));
    await eventually(() => {
      assert.deepEqual(owner.told, ['0 cut-off 50→2']);
    }, 10_000);
    assert.ok(brokers.count('Metadata') > 5, `${brokers.count('Metadata')} questions who leads`);
    logs[0]?.append('c');
    await until(owner, { 0: 'c' });
  });

  test('behind the end of a log that several nodes have led, nothing before the end is read again', async (t) => {
    const { logs, owner, fetcher, cursors } = reading(t, 1);
    for (const cursor of cursors) fetcher.remove(cursor);
    logs[0]?.append('a', 'b');
    logs[0]?.lead(2);
    logs[0]?.append('c');
    fetcher.add(new Cursor({ topic, partition: 0 }, 50, maxBytes));
    await eventually(() => {
      assert.deepEqual(owner.told, ['0 cut-off 50→3']);
    });
    logs[0]?.append('d');
    await until(owner, { 0: 'd' });
    assert.equal(owner.told.length, 1);
  });

  test('a position that is refused is settled where the epoch of the last record ends, be it the first one', async (t) => {
    const { brokers, logs, owner } = reading(t, 1);
    const [log] = logs;
    if (log === undefined) return;
    log.append('a');
    log.append('b');
    await until(owner, { 0: 'a b' });
    brokers.before = ({ api }) => {
      if (api === 'ListOffsets') log.fetchError = undefined;
    };
    log.fetchError = 'OFFSET_OUT_OF_RANGE';
    log.cutOff(1);
    log.append('c');
    log.append('d');
    await until(owner, { 0: 'a b c d' });
    assert.deepEqual(owner.told, ['0 cut-off 2→1']);
  });

  test('a position that is refused though the log has it is asked for again after a while', async (t) => {
    const { brokers, logs, owner } = reading(t, 1);
    const [log] = logs;
    if (log === undefined) return;
    log.append('a');
    await until(owner, { 0: 'a' });
    log.fetchError = 'OFFSET_OUT_OF_RANGE';
    const askedAtMs: number[] = [];
    brokers.before = ({ api }) => {
      if (api === 'Fetch') askedAtMs.push(performance.now());
      if (askedAtMs.length === 4) log.fetchError = undefined;
    };
    log.append('b');
    await until(owner, { 0: 'a b' });
    assert.deepEqual(owner.told, []);
    const pausesMs = askedAtMs.slice(1, 4).map((atMs, index) => atMs - (askedAtMs[index] ?? 0));
    assert.ok(Math.min(...pausesMs) > 200, `asked after ${pausesMs.join(', ')} ms`);
  });

  test('while the leader cannot say where its log goes on, the position waits', async (t) => {
    const { logs, owner, log } = reading(t, 4);
    const [bad] = logs;
    if (bad === undefined) return;
    bad.append('a', 'b');
    await until(owner, { 0: 'a b' });
    bad.listError = 'OFFSET_NOT_AVAILABLE';
    bad.cutOff(0);
    bad.append('c');
    await eventually(() => {
      assert.match(log.visible.join(), /partition 0 of topic: OFFSET_NOT_AVAILABLE/);
    });
    logs[3]?.append('x');
    await until(owner, { 3: 'x' });
    assert.equal(owner.of(0), 'a b');
    bad.listError = undefined;
    await until(owner, { 0: 'a b c' });
  });

  test('a broker that is gone is said once, and its partitions are read when it is back', async (t) => {
    const { brokers, logs, owner, log } = reading(t, 2);
    logs[0]?.append('a');
    await until(owner, { 0: 'a' });
    brokers.nodes.set(1, 'down');
    logs[0]?.append('b');
    logs[1]?.append('x');
    await until(owner, { 1: 'x' });
    await eventually(() => {
      assert.match(log.visible.join(), /warn: Kafka returns no records.*ECONNREFUSED/);
    });
    brokers.nodes.set(1, 'up');
    await until(owner, { 0: 'a b' });
    assert.equal(log.visible.length, 1);
  });

  test('brokers that do not say who leads are said once, and what they lead is read when they do', async (t) => {
    const { brokers, logs, owner, log } = reading(t, 1, {
      write: (fake) => {
        fake.before = ({ api }) => {
          if (api === 'Metadata') throw new Error('nobody answers');
        };
      },
    });
    await eventually(() => {
      assert.match(log.visible.join(), /^warn: Kafka returns no records.*nobody answers/);
    }, 5_000);
    brokers.before = () => undefined;
    logs[0]?.append('a');
    await until(owner, { 0: 'a' });
    assert.equal(log.visible.length, 1);
  });

  test('a question that is cut short because reading ends is no trouble that anybody is told of', async (t) => {
    const { brokers, log, fetcher } = reading(t, 1);
    const asked = Promise.withResolvers<undefined>();
    const answered = Promise.withResolvers<undefined>();
    brokers.before = () => {
      asked.resolve(undefined);
      return answered.promise;
    };
    await asked.promise;
    fetcher.close();
    answered.reject(new Error('the connection was closed'));
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    assert.deepEqual(log.visible, []);
  });

  test('answers that are lost repeat nothing', async (t) => {
    const { brokers, logs, owner } = reading(t, 2);
    let lost = 0;
    brokers.after = ({ api }) => {
      if (api !== 'Fetch' || lost++ % 3 !== 0) return;
      throw new Error('the connection broke');
    };
    const values = Array.from({ length: 30 }, (_, i) => i);
    for (const value of values) logs[value % 2]?.append(value);
    const ofPartition = (partition: number): string =>
      values.filter((value) => value % 2 === partition).join(' ');
    await until(owner, { 0: ofPartition(0), 1: ofPartition(1) });
    assert.ok(lost > 0);
  });

  test('nothing of a topic that was made again is taken for the former one’s', async (t) => {
    const { brokers, logs, owner, fetcher } = reading(t, 2);
    logs[0]?.append('a');
    await until(owner, { 0: 'a' });
    const again = brokers.makeTopic(topic, 2);
    for (const log of again) log.append('new', 'new');
    await eventually(() => {
      assert.deepEqual(owner.told.toSorted(), ['0 remade', '1 remade']);
    });
    assert.deepEqual([owner.of(0), owner.of(1)], ['a', '']);
    fetcher.add(new Cursor({ topic, partition: 0 }, 0, maxBytes));
    await until(owner, { 0: 'a new new' });
  });

  test('a topic that is gone stops nothing but itself, until it is there again', async (t) => {
    const { brokers, logs, owner, fetcher } = reading(t, 1);
    const [other] = brokers.makeTopic('other', 1);
    fetcher.add(new Cursor({ topic: 'other', partition: 0 }, 0, maxBytes));
    other?.append('a');
    await until(owner, { 0: 'a' });
    brokers.deleteTopic(topic);
    other?.append('b');
    await until(owner, { 0: 'a b' });
    assert.deepEqual([owner.told, logs.length], [[], 1]);
    brokers.makeTopic(topic, 1);
    await eventually(() => {
      assert.deepEqual(owner.told, ['0 remade']);
    });
  });

  test('a right that is missing is told to whoever waits', async (t) => {
    const { brokers, owner } = reading(t, 1, {
      write: (fake) => fake.topicErrors.set(topic, 'TOPIC_AUTHORIZATION_FAILED'),
    });
    await eventually(() => {
      assert.match(String(owner.refusal), /topic topic: TOPIC_AUTHORIZATION_FAILED/);
    });
    assert.equal(brokers.count('Fetch'), 0);
  });

  test('a partition that may not be read from the start is asked for after a pause', async (t) => {
    const { owner, cursors } = reading(t, 1, {
      write: (fake) => {
        fake.log(topic, 0).fetchError = 'TOPIC_AUTHORIZATION_FAILED';
      },
    });
    await eventually(() => {
      assert.match(String(owner.refusal), /TOPIC_AUTHORIZATION_FAILED/);
    });
    assert.ok((cursors[0]?.restUntilMs ?? 0) > performance.now());
  });
});

test('an outage is said once in ten seconds, however many partitions and brokers it affects', async (t) => {
  const pass = passTime(t);
  const { logs, log, cursors } = reading(t, 4);
  for (const each of logs) each.fetchError = 'UNKNOWN_SERVER_ERROR';
  for (const said of [1, 2]) {
    const fromMs = performance.now();
    await eventually(() => {
      assert.ok(cursors.every(({ restUntilMs }) => restUntilMs > fromMs));
    });
    assert.equal(log.visible.length, said);
    pass(10_000);
  }
});

test('a partition that nobody leads is said once that has lasted, and so is a topic that is gone', async (t) => {
  const pass = passTime(t);
  const { brokers, logs, owner, log, cursors } = reading(t, 2);
  const [[mine], [cursor]] = [logs, cursors];
  assert.ok(mine && cursor);
  mine.append('a');
  await until(owner, { 0: 'a' });
  mine.lead(-1);
  await eventually(() => {
    assert.equal(cursor.leader, -1);
  });
  assert.deepEqual(log.visible, []);
  pass(10_000);
  await eventually(() => {
    assert.match(log.visible.join(), /^warn: .*partition 0 of topic: LEADER_NOT_AVAILABLE"/);
  });
  mine.lead(2);
  mine.append('b');
  await until(owner, { 0: 'a b' });
  pass(10_000);
  mine.lead(-1);
  await eventually(() => {
    assert.equal(cursor.leader, -1);
  });
  mine.lead(3);
  mine.append('c');
  await until(owner, { 0: 'a b c' });
  assert.equal(log.visible.length, 1);
  brokers.deleteTopic(topic);
  await eventually(() => {
    assert.ok(cursors.every(({ unledSinceMs }) => unledSinceMs !== undefined));
  });
  pass(10_000);
  await eventually(() => {
    assert.match(log.visible.join(), /partition 0 of topic: UNKNOWN_TOPIC_OR_PARTITION"/);
  });
  assert.equal(log.visible.length, 2);
});

test('a right that is taken away is asked for again with growing pauses, and reading goes on with it', async (t) => {
  const pass = passTime(t);
  const { logs, owner, log, cursors } = reading(t, 1);
  const [[mine], [cursor]] = [logs, cursors];
  assert.ok(mine && cursor);
  mine.append('a');
  await until(owner, { 0: 'a' });
  mine.fetchError = 'TOPIC_AUTHORIZATION_FAILED';
  await eventually(() => {
    assert.match(log.visible.join('\n'), /^warn: .*ACLs refuse this principal .* topic topic"/m);
  });
  mine.append('b');
  for (const [times, leastMs] of [
    [2, 1_000],
    [3, 2_000],
    [4, 4_000],
  ] as const) {
    pass(leastMs);
    await eventually(() => {
      assert.ok((cursor.refusals ?? 0) >= times);
      assert.ok(cursor.restUntilMs - performance.now() > leastMs);
    });
  }
  assert.equal(owner.refusal, undefined);
  mine.fetchError = undefined;
  pass(15_000);
  await until(owner, { 0: 'a b' });
});

test('before a batch that cannot be read everything is handed over, and behind it nothing until it can', async (t) => {
  const pass = passTime(t);
  const { logs, owner } = reading(t, 4);
  const [bad, , , neighbour] = logs;
  bad?.append('a', 'b');
  bad?.append('c');
  bad?.append('d');
  const mend = bad?.damage(2);
  await until(owner, { 0: 'a b' });
  await eventually(() => {
    assert.deepEqual(owner.told, ['0 stuck at 2']);
  });
  assert.match(owner.problems.join(), /checksum/);
  neighbour?.append('x');
  await until(owner, { 3: 'x' });
  assert.equal(owner.reachedAtMs.has(0), false);
  // It is tried again after half a minute, and not before.
  pass(29_000);
  neighbour?.append('y');
  await until(owner, { 3: 'x y' });
  assert.equal(owner.told.length, 1);
  pass(1_000);
  await eventually(() => {
    assert.deepEqual(owner.told, ['0 stuck at 2', '0 stuck at 2']);
  });
  mend?.();
  pass(30_000);
  await until(owner, { 0: 'a b c d' });
  await eventually(() => {
    assert.ok(owner.reachedAtMs.has(0));
  });
});
