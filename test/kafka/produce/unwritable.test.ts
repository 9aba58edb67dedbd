import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import type { KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import { SimulatedClock } from '../../delivery/simulated-clock.ts';
import { openScene, type Scene } from './scene.ts';

/** What became of records that may go elsewhere after 15 s. */
class Stuck {
  readonly clock: SimulatedClock = new SimulatedClock();
  readonly scene: Scene = openScene({ clock: this.clock, partitions: 2 });
  readonly written: string[] = [];
  readonly back: string[] = [];
  /** Why partition 0 takes nothing. */
  error: KafkaErrorName | undefined = 'NOT_ENOUGH_REPLICAS';

  constructor() {
    this.scene.cluster.fault = (_, topic, partition) =>
      topic === 'a' && partition === 0 && this.error !== undefined
        ? { error: this.error }
        : undefined;
  }

  produce(value: string, partition = 0, hasOtherPlace = true): void {
    this.give({
      topic: 'a',
      partition,
      value,
      elsewhereAfterMs: hasOtherPlace ? 15_000 : undefined,
    });
  }

  give(record: {
    readonly topic: string;
    readonly partition?: number;
    readonly value: string;
    readonly elsewhereAfterMs: number | undefined;
  }): void {
    this.scene.producer.produce({ key: null, ...record }, (error) => {
      if (error === undefined) this.written.push(record.value);
      else if (error.code === 'unwritable') this.back.push(record.value);
      else assert.fail(error.message);
    });
  }

  /** The cluster answers with turns of the event loop. */
  async pass(ms: number): Promise<void> {
    for (let left = 20; left > 0; left -= 1) {
      await this.clock.pass(ms / 20);
      await setImmediate();
    }
  }
}

test('records of a partition that cannot be written come back in order after the time that they may wait', async () => {
  const stuck = new Stuck();
  stuck.produce('1');
  await stuck.pass(100);
  stuck.produce('2');
  stuck.produce('other', 1);
  await stuck.pass(14_000);
  assert.deepEqual([stuck.back, stuck.written], [[], ['other']]);
  await stuck.pass(2_000);
  assert.deepEqual(stuck.back, ['1', '2']);
  assert.equal(stuck.scene.producer.queuedRecords, 0);
  assert.equal(stuck.scene.producer.queuedBytes, 0);
  stuck.produce('3');
  await stuck.pass(20);
  assert.deepEqual(stuck.back, ['1', '2', '3'], 'what comes later does not wait');
});

test('a partition that came back is found by a record that is tried there, and the others follow', async () => {
  const stuck = new Stuck();
  stuck.produce('1');
  await stuck.pass(16_000);
  await stuck.pass(10_000);
  stuck.produce('probe');
  stuck.produce('beside');
  await stuck.pass(200);
  assert.deepEqual(stuck.back.toSorted(), ['1', 'beside', 'probe']);
  stuck.error = undefined;
  await stuck.pass(10_000);
  stuck.produce('2');
  await stuck.pass(200);
  stuck.produce('3');
  await stuck.pass(200);
  assert.deepEqual(stuck.written, ['2', '3']);
  assert.deepEqual(stuck.scene.cluster.log('a', 0).values, ['2', '3']);
});

test('records that have no other place wait for their partition, and those behind them come back', async () => {
  const stuck = new Stuck();
  stuck.produce('stays', 0, false);
  await stuck.pass(100);
  stuck.produce('goes');
  stuck.produce('stays too', 0, false);
  await stuck.pass(20_000);
  assert.deepEqual(stuck.back, ['goes']);
  stuck.error = undefined;
  await stuck.pass(1_000);
  assert.deepEqual(stuck.written, ['stays', 'stays too']);
});

test('many bytes wait for a partition that cannot be written no longer than it takes to know that', async () => {
  const stuck = new Stuck();
  stuck.produce('1');
  await stuck.pass(100);
  for (let n = 0; n < 12; n += 1) stuck.produce('x'.repeat(100_000));
  await stuck.pass(500);
  assert.ok(stuck.scene.producer.queuedBytes < 1_200_000);
  assert.ok(stuck.back.length > 0);
});

test('a topic that does not exist gives its records back, and takes them once it does', async () => {
  const stuck = new Stuck();
  const give = (value: string): void => {
    stuck.give({ topic: 'gone', value, elsewhereAfterMs: 15_000 });
  };
  give('1');
  await stuck.pass(16_000);
  assert.deepEqual(stuck.back, ['1']);
  assert.deepEqual([...stuck.scene.producer.unwritable()], [['gone', 1]]);
  stuck.scene.cluster.makeTopic('gone', 1);
  await stuck.pass(1_000);
  give('2');
  await stuck.pass(200);
  assert.deepEqual(stuck.written, ['2']);
  assert.deepEqual([...stuck.scene.producer.unwritable()], []);
});

test('while no broker answers, all records wait', async () => {
  const stuck = new Stuck();
  stuck.error = undefined;
  stuck.scene.cluster.lose = () => 'request';
  stuck.produce('1');
  await stuck.pass(60_000);
  assert.deepEqual(stuck.back, []);
  assert.deepEqual([...stuck.scene.producer.unwritable()], []);
  stuck.scene.cluster.lose = () => undefined;
  await stuck.pass(1_000);
  assert.deepEqual(stuck.written, ['1']);
});

test('topics that cannot be written for ten seconds are named, with how many partitions', async () => {
  const stuck = new Stuck();
  stuck.produce('1', 0, false);
  stuck.produce('2', 1, false);
  await stuck.pass(9_000);
  assert.deepEqual([...stuck.scene.producer.unwritable()], []);
  await stuck.pass(2_000);
  assert.deepEqual([...stuck.scene.producer.unwritable()], [['a', 1]]);
  stuck.error = undefined;
  await stuck.pass(1_000);
  assert.deepEqual([...stuck.scene.producer.unwritable()], []);
});
