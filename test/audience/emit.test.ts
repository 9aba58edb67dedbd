import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emit, type ChangeBatch, type OutgoingChange } from '../../src/audience/emit.ts';

function change(partition: number, value: string): OutgoingChange {
  return { userId: 'u', partition, records: [{ topic: 'calls', partition: 0, key: 'u', value }] };
}

async function* inChunks(changes: readonly OutgoingChange[]): AsyncGenerator<OutgoingChange[]> {
  for (let from = 0; from < changes.length; from += 7)
    yield Promise.resolve(changes.slice(from, from + 7));
}

/** Commits that end when they are told to. */
class FakeKafka {
  readonly committed: (readonly [partition: number, values: readonly string[]])[] = [];
  readonly running = new Set<number>();
  most = 0;

  async commit(partition: number, { records }: ChangeBatch): Promise<void> {
    assert.equal(this.running.has(partition), false, 'two transactions of one partition');
    this.running.add(partition);
    this.most = Math.max(this.most, this.running.size);
    await new Promise((resolve) => setImmediate(resolve));
    this.running.delete(partition);
    this.committed.push([partition, records.map(({ value }) => String(value))]);
  }
}

test('every change is committed once, with others of its partition, in order', async () => {
  const kafka = new FakeKafka();
  const changes = Array.from({ length: 1_000 }, (_, i) => change(i % 6, String(i)));
  await emit({ changes: inChunks(changes), mostChanges: 10, commit: kafka.commit.bind(kafka) });
  for (const [, values] of kafka.committed) assert.ok(values.length <= 10);
  for (let partition = 0; partition < 6; partition += 1) {
    const values = kafka.committed.flatMap(([of, some]) => (of === partition ? some : []));
    assert.deepEqual(
      values,
      changes.flatMap(({ partition: of, records: [record] }) =>
        of === partition ? [record?.value] : [],
      ),
    );
  }
  assert.equal(kafka.most, 4);
});

test('a batch holds no more bytes than a partition takes at once', async () => {
  const kafka = new FakeKafka();
  const large = 'x'.repeat(30_000);
  const changes = Array.from({ length: 100 }, () => change(0, large));
  await emit({ changes: inChunks(changes), mostChanges: 5_000, commit: kafka.commit.bind(kafka) });
  const sizes = kafka.committed.map(([, values]) => values.length);
  assert.deepEqual(sizes, [30, 30, 30, 10]);
});

test('after a failure nothing is begun, and it is told when all that ran has ended', async () => {
  const kafka = new FakeKafka();
  let failed = 0;
  const changes = Array.from({ length: 600 }, (_, i) => change(i % 6, String(i)));
  const emission = emit({
    changes: inChunks(changes),
    mostChanges: 10,
    commit: async (partition, batch) => {
      if (partition === 3) {
        failed += 1;
        throw new Error('Kafka is away');
      }
      await kafka.commit(partition, batch);
    },
  });
  await assert.rejects(emission, /Kafka is away/);
  assert.equal(failed, 1);
  assert.equal(kafka.running.size, 0);
  assert.ok(kafka.committed.length <= 6);
});
