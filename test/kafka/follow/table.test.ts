import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { PostriderError } from '../../../src/errors.ts';
import {
  followTable,
  newestByKey,
  type FollowedTable,
  type TableRules,
} from '../../../src/kafka/follow/table.ts';
import { encodeBatch } from '../../../src/kafka/protocol/batch-writer.ts';
import { eventually } from '../../harness/eventually.ts';
import { FakeBrokers, type Asked } from '../fake-brokers.ts';
import { FakeLogger } from '../fake-logger.ts';
import { uncompressed } from '../uncompressed.ts';

const topic = 'config';
type Counts = ReadonlyMap<string, number>;

/** Numbers by key. */
const counts: TableRules<Map<string, number>, string> = newestByKey((key, value) => {
  const count = Number(value);
  if (Number.isNaN(count)) throw new PostriderError('resource-invalid', `${key} is no number`);
  return count < 0 ? undefined : count;
});

interface Scene {
  readonly brokers: FakeBrokers;
  readonly log: FakeLogger;
  readonly table: FollowedTable<Counts, string>;
  /** What listeners were told, and what was in the table then. */
  readonly told: (readonly [key: string, count: number | undefined])[];
  readonly write: (
    partition: number,
    ...records: readonly (readonly [string, number | string | null])[]
  ) => void;
  readonly content: () => Record<string, number>;
}

function follow(t: TestContext, partitions: number = 1, rules: typeof counts = counts): Scene {
  const brokers = new FakeBrokers(3);
  brokers.makeTopic(topic, partitions);
  const log = new FakeLogger();
  const table = followTable(brokers, { topic, log, maxWaitMs: 20 }, rules);
  t.after(() => table.stop());
  const told: Scene['told'] = [];
  table.onChange((key) => told.push([key, table.current.get(key)]));
  return {
    brokers,
    log,
    table,
    told,
    write: (partition, ...written) => {
      const records = written.map(([key, value]) => ({
        key,
        value: value === null ? null : String(value),
      }));
      const origin = { producerId: -1, epoch: -1, sequence: -1 };
      const batch = encodeBatch(records, origin, uncompressed, Date.now());
      brokers.log(topic, partition).appendBatch(batch);
    },
    content: () => Object.fromEntries(table.current),
  };
}

/** Until the returned function is called, nobody learns where the partitions of a topic begin. */
function withhold(brokers: FakeBrokers): {
  readonly asked: () => number;
  readonly release: () => void;
} {
  const before = brokers.count('ListOffsets');
  brokers.before = ({ api }: Asked) => {
    if (api === 'ListOffsets') throw new Error('away');
  };
  return {
    asked: () => brokers.count('ListOffsets') - before,
    release: () => {
      brokers.before = () => undefined;
    },
  };
}

describe('a table', { concurrency: true }, () => {
  test('has the newest value of each key, and none of what was removed', async (t) => {
    const { brokers, table, told, write, content } = follow(t, 2);
    write(0, ['a', 1], ['b', 2], ['a', 3], ['c', 4], ['c', null], ['d', -1]);
    write(1, ['e', 5]);
    assert.deepEqual([content(), table.isFresh()], [{}, false]);
    await table.loaded;
    assert.deepEqual([content(), table.isFresh()], [{ a: 3, b: 2, e: 5 }, true]);
    assert.deepEqual([table.position(), Number.isFinite(table.knownAtMs)], [6, true]);
    // A second request would be sent a second later.
    const asked = brokers.asked.filter(({ api, nodeId }) => api === 'Metadata' && nodeId < 0);
    assert.equal(asked.length, 1);

    told.length = 0;
    write(0, ['a', null], ['b', 6]);
    await table.caughtUp();
    assert.deepEqual(content(), { b: 6, e: 5 });
    assert.deepEqual(told, [
      ['a', undefined],
      ['b', 6],
    ]);
  });

  test('is empty until all of it is there, and then tells what it has', async (t) => {
    const { brokers, table, told, write, content } = follow(t, 2);
    write(0, ['a', 1], ['a', 2]);
    write(1, ['b', 3]);
    brokers.log(topic, 1).fetchError = 'KAFKA_STORAGE_ERROR';
    await eventually(() => {
      assert.equal(table.position(), 2);
    });
    assert.deepEqual([content(), told], [{}, []]);
    brokers.log(topic, 1).fetchError = undefined;
    await table.loaded;
    assert.deepEqual(content(), { a: 2, b: 3 });
    assert.deepEqual(told.toSorted(), [
      ['a', 2],
      ['b', 3],
    ]);
  });

  for (const [what, begin] of [
    ['was made again', ({ brokers }: Scene) => brokers.makeTopic(topic, 2)],
    [
      'was cut off',
      ({ brokers }: Scene) => {
        brokers.log(topic, 0).cutOff(1);
      },
    ],
  ] as const)
    test(`stays when its topic ${what} until all of the new one is there, and is not fresh`, async (t) => {
      const scene = follow(t, 2);
      const { brokers, table, told, write, content } = scene;
      write(0, ['a', 1]);
      write(0, ['b', 2]);
      await table.loaded;
      const former = table.current;
      told.length = 0;
      begin(scene);
      write(0, ['a', 0], ['a', 3], ['c', 4]);
      brokers.log(topic, 1).fetchError = 'KAFKA_STORAGE_ERROR';
      await eventually(() => {
        assert.equal(table.position(), what === 'was cut off' ? 4 : 3);
      });
      assert.deepEqual([content(), table.isFresh(), told], [{ a: 1, b: 2 }, false, []]);
      brokers.log(topic, 1).fetchError = undefined;
      await table.caughtUp();
      assert.deepEqual([content(), table.isFresh()], [{ a: 3, c: 4 }, true]);
      assert.notEqual(table.current, former);
      assert.deepEqual(told, [
        ['a', 3],
        ['b', undefined],
        ['c', 4],
      ]);
      write(0, ['c', 5]);
      await table.caughtUp();
      assert.deepEqual(content(), { a: 3, c: 5 });
    });

  test('has nothing of a topic that was made again before it was loaded', async (t) => {
    const scene = follow(t);
    const { brokers, table, write, content } = scene;
    write(0, ['a', 1]);
    await table.loaded;
    for (const [key, count] of [
      ['b', 2],
      ['c', 3],
    ] as const) {
      const { asked, release } = withhold(brokers);
      brokers.makeTopic(topic, 1);
      write(0, [key, count]);
      await eventually(() => {
        assert.ok(asked() > 0);
      });
      release();
    }
    await eventually(() => {
      assert.deepEqual(content(), { c: 3 });
    });
  });

  test('keeps the value before a record that cannot be read, and says so', async (t) => {
    const { log, table, told, write, content } = follow(t);
    write(0, ['a', 1], ['a', 'x'], ['b', 'y'], ['c', 3]);
    await table.loaded;
    assert.deepEqual(content(), { a: 1, c: 3 });
    told.length = 0;
    write(0, ['c', 'z']);
    write(0, ['a', null]);
    await table.caughtUp();
    assert.deepEqual([content(), told], [{ c: 3 }, [['a', undefined]]]);
    assert.match(
      log.visible[0] ?? '',
      /^warn: a record cannot be read.*: a is no number.*"offset":1/,
    );
    assert.equal(log.visible.length, 3);
  });

  test('has stopped if it cannot be loaded, and says why', async (t) => {
    const refused = follow(t);
    refused.brokers.topicErrors.set(topic, 'TOPIC_AUTHORIZATION_FAILED');
    await assert.rejects(refused.table.loaded, { code: 'kafka-refused' });
    await assert.rejects(refused.table.caughtUp(), { code: 'kafka-refused' });

    const broken = follow(t, 1, {
      ...counts,
      apply: () => {
        throw new TypeError('a defect');
      },
    });
    broken.write(0, ['a', 1]);
    await assert.rejects(broken.table.loaded, /a defect/);

    const stopped = follow(t);
    stopped.brokers.nodes.set(1, 'hangs');
    void stopped.table.stop();
    await assert.rejects(stopped.table.loaded, { code: 'stopped' });
  });

  test('is not fresh while nobody says whether anything is new', async (t) => {
    const { brokers, table } = follow(t);
    await table.loaded;
    brokers.nodes.set(1, 'hangs');
    await eventually(() => {
      assert.equal(table.isFresh(), false);
    });
    brokers.nodes.set(1, 'up');
    await eventually(() => {
      assert.equal(table.isFresh(), true);
    });
  });

  test('is made with the one whose place it takes, and is not fresh before it has that', async (t) => {
    const formers: (Record<string, number> | undefined)[] = [];
    const fresh: boolean[] = [];
    const { brokers, table, write, content } = follow(t, 1, {
      ...counts,
      complete: () => {
        fresh.push(table.isFresh());
        return [];
      },
      create: (former) => {
        formers.push(former === undefined ? undefined : Object.fromEntries(former));
        return new Map();
      },
    });
    write(0, ['a', 1]);
    await table.loaded;
    brokers.makeTopic(topic, 1);
    write(0, ['b', 2]);
    await eventually(() => {
      assert.deepEqual(content(), { b: 2 });
    });
    assert.deepEqual(formers, [undefined, {}, { a: 1 }]);
    assert.deepEqual([fresh, table.isFresh()], [[false, false], true]);
  });
});
