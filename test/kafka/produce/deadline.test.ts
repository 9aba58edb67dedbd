import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { seededRandom, SimulatedClock } from '../../delivery/simulated-clock.ts';
import { openScene, type Scene } from './scene.ts';

const deliveryTimeoutMs = 5_000;

/** What became of records that are given up after 5 s. */
class Impatient {
  readonly clock: SimulatedClock = new SimulatedClock();
  readonly scene: Scene = openScene({ clock: this.clock, partitions: 2, deliveryTimeoutMs });
  readonly written: string[] = [];
  readonly late: string[] = [];

  /** A producer that still holds something would try without end. */
  constructor(t: TestContext) {
    t.after(() => this.scene.producer.close(0));
  }

  produce(value: string, partition = 0, topic = 'a'): void {
    this.scene.producer.produce({ topic, partition, key: null, value }, (error) => {
      if (error === undefined) this.written.push(value);
      else if (error.code === 'kafka-unavailable') this.late.push(value);
      else assert.fail(error.message);
    });
  }

  /** Partition 0 takes nothing, until this is called with false. */
  stop(isStopped = true): void {
    this.scene.cluster.fault = (_, topic, partition) =>
      isStopped && topic === 'a' && partition === 0 ? { error: 'NOT_ENOUGH_REPLICAS' } : undefined;
  }

  values(partition = 0): readonly string[] {
    return this.scene.cluster.log('a', partition).values;
  }

  /** The cluster answers with turns of the event loop. */
  async pass(ms: number): Promise<void> {
    for (let left = 20; left > 0; left -= 1) {
      await this.clock.pass(ms / 20);
      await setImmediate();
    }
  }

  assertEmpty(): void {
    const { queuedRecords, queuedBytes } = this.scene.producer;
    assert.deepEqual({ queuedRecords, queuedBytes }, { queuedRecords: 0, queuedBytes: 0 });
  }
}

test('records that Kafka does not acknowledge come back at the deadline, and those of other partitions are written', async (t) => {
  const impatient = new Impatient(t);
  impatient.stop();
  impatient.produce('1');
  await impatient.pass(100);
  impatient.produce('2');
  impatient.produce('other', 1);
  await impatient.pass(4_880);
  assert.deepEqual([impatient.late, impatient.written], [[], ['other']]);
  await impatient.pass(20);
  assert.deepEqual(impatient.late, ['1']);
  await impatient.pass(360);
  assert.deepEqual(impatient.late, ['1', '2']);
  impatient.assertEmpty();
  impatient.stop(false);
  await impatient.pass(1_000);
  impatient.produce('3');
  await impatient.pass(100);
  assert.deepEqual(impatient.written, ['other', '3']);
  assert.deepEqual(impatient.values(), ['3'], 'nothing is sent of what was given up');
});

test('a clock that is set makes no record late, and lets none wait longer', async (t) => {
  const impatient = new Impatient(t);
  impatient.stop();
  impatient.produce('1');
  await impatient.pass(2_000);
  impatient.clock.set(3_600_000);
  await impatient.pass(2_000);
  assert.deepEqual(impatient.late, []);
  impatient.clock.set(-7_200_000);
  await impatient.pass(1_000);
  assert.deepEqual(impatient.late, ['1']);
});

test('a request that hangs holds nobody up beyond the deadline, and its records count if they arrived', async (t) => {
  const impatient = new Impatient(t);
  const { cluster } = impatient.scene;
  let answer = (): void => undefined;
  cluster.delay = () => new Promise<void>((resolve) => (answer = resolve));
  impatient.produce('1');
  await impatient.pass(3_000);
  impatient.produce('2');
  await impatient.pass(2_000);
  assert.deepEqual(impatient.late, ['1']);
  cluster.delay = () => setImmediate();
  answer();
  await impatient.pass(100);
  assert.deepEqual([impatient.late, impatient.written], [['1'], ['2']]);
  assert.deepEqual(impatient.values(), ['1', '2'], 'each once, in order');
  impatient.assertEmpty();
});

test('a record behind one that was given up, and had arrived without an answer, is not taken for it', async (t) => {
  const impatient = new Impatient(t);
  const { cluster } = impatient.scene;
  cluster.lose = ({ batches }) =>
    batches.some(({ values }) => values[0] === '1') ? 'answer' : undefined;
  impatient.produce('1');
  await impatient.pass(4_000);
  impatient.produce('2');
  await impatient.pass(1_500);
  assert.deepEqual([impatient.late, impatient.written], [['1'], ['2']]);
  assert.deepEqual(impatient.values(), ['1', '2']);
});

test('a batch is sent for as long as somebody waits for one of its records, and written once', async (t) => {
  const impatient = new Impatient(t);
  impatient.stop();
  impatient.produce('holds');
  await impatient.pass(1_000);
  impatient.produce('older');
  await impatient.pass(3_000);
  impatient.produce('younger');
  await impatient.pass(2_500);
  assert.deepEqual(impatient.late, ['holds', 'older']);
  impatient.stop(false);
  await impatient.pass(1_000);
  assert.deepEqual(impatient.written, ['younger']);
  // Kafka would not recognize a part of what it may have taken already.
  assert.deepEqual(impatient.values(), ['older', 'younger']);
});

test('while Kafka is away for minutes, no more is held than the deadline lets come', async (t) => {
  const impatient = new Impatient(t);
  impatient.scene.cluster.lose = () => 'request';
  for (let tenth = 0; tenth < 1_200; tenth += 1) {
    for (const partition of [0, 1]) impatient.produce(String(tenth), partition);
    await impatient.clock.pass(100);
    const { queuedRecords } = impatient.scene.producer;
    assert.ok(queuedRecords <= 2 * 51, `${queuedRecords} records`);
  }
  impatient.scene.cluster.lose = () => undefined;
  await impatient.pass(6_000);
  impatient.assertEmpty();
  assert.ok(impatient.values().length <= 2 * 51, 'what was given up is not sent any more');
});

test('records for a topic that is not there come back at the deadline, and later ones arrive once it is', async (t) => {
  const impatient = new Impatient(t);
  impatient.produce('1', 0, 'gone');
  await impatient.pass(5_000);
  assert.deepEqual(impatient.late, ['1']);
  impatient.assertEmpty();
  impatient.produce('2', 0, 'gone');
  impatient.scene.cluster.makeTopic('gone', 1);
  await impatient.pass(1_000);
  assert.deepEqual(impatient.written, ['2']);
});

test('whatever is lost on the way, written means once in the log, and in order; late means once at most', async (t) => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = seededRandom(seed);
    const impatient = new Impatient(t);
    const { cluster } = impatient.scene;
    const given: string[] = [];
    for (let step = 0; step < 120; step += 1) {
      const [isStopped, loses] = [random() < 0.5, random()];
      impatient.stop(isStopped);
      cluster.lose = () => {
        if (random() > loses) return undefined;
        return random() < 0.5 ? 'request' : 'answer';
      };
      for (let n = Math.floor(random() * 4); n > 0; n -= 1) {
        given.push(String(given.length));
        impatient.produce(String(given.length - 1));
      }
      await impatient.clock.pass(random() * 900);
      await setImmediate();
    }
    impatient.stop(false);
    cluster.lose = () => undefined;
    await impatient.pass(6_000);
    const about = `seed ${seed}`;
    const told = [...impatient.written, ...impatient.late].sort((a, b) => Number(a) - Number(b));
    assert.deepEqual(told, given, about);
    assert.ok(impatient.late.length > 0 && impatient.written.length > 0, about);
    const log = impatient.values();
    assert.equal(new Set(log).size, log.length, about);
    const numbers = log.map(Number);
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
      about,
    );
    for (const value of impatient.written) assert.ok(log.includes(value), `${about}: ${value}`);
  }
});
