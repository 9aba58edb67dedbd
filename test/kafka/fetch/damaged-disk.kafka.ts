import assert from 'node:assert/strict';
import { mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startCluster } from '../../../src/dev/broker.ts';
import { withAdmin } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { startFollower } from '../../../src/kafka/follow/follower.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { eventually } from '../../harness/eventually.ts';
import { Member } from '../consume/member.ts';
import { FakeLogger } from '../fake-logger.ts';
import { readAll } from '../topics.ts';
import { passTime } from './passing-time.ts';

/** A broker of its own, whose disk may be written to. */
const dataDir = await mkdtemp(join(tmpdir(), 'postrider-disk-'));
const cluster = await startCluster(1, { dataDir });
after(async () => {
  await cluster.kill(1);
  await cluster.stop();
  await rm(dataDir, { recursive: true, force: true });
});
const kafka = createKafka({ brokers: cluster.brokers, clientId: 'test' }, silentLogger);
const producer = await createProducer(kafka, { log: silentLogger });
after(() => producer.close(10_000));

async function makeTopic(name: string): Promise<void> {
  await withAdmin(kafka, (admin) =>
    admin.createTopics([{ name, partitions: 2, replicationFactor: 1, config: {} }]),
  );
}

/** A batch each. */
async function write(
  topic: string,
  partition: number,
  ...values: readonly string[]
): Promise<void> {
  for (const value of values) await producer.send([{ topic, partition, key: 'user', value }]);
}

/**
 * Turns a bit of what a partition has on disk. What a broker has appended is there for others to read, though
 * it may not be safe from a loss of power yet.
 * @returns turns it back
 */
async function turnBit(
  topic: string,
  partition: number,
  text: string,
): Promise<() => Promise<void>> {
  const folder = join(dataDir, 'node-1', 'data', `${topic}-${partition}`);
  const segment = (await readdir(folder)).find((name) => name.endsWith('.log')) ?? '';
  const path = join(folder, segment);
  const bytes = await readFile(path);
  const at = bytes.indexOf(text);
  assert.ok(at >= 0, `${text} is not on disk`);
  const put = async (byte: number): Promise<void> => {
    const file = await open(path, 'r+');
    await file.write(Buffer.from([byte]), 0, 1, at);
    await file.close();
  };
  const original = bytes[at] ?? 0;
  await put(original ^ 1);
  return () => put(original);
}

test('one bit that has turned on a broker’s disk stops its partition, and nothing else', async () => {
  const topic = 'calls';
  await makeTopic(topic);
  await write(topic, 0, '{"total":19.95}', '{"total":39.95}', '{"total":59.95}');
  await write(topic, 1, 'elsewhere');
  await turnBit(topic, 0, '39.95');
  const log = new FakeLogger();
  const unreadable: string[] = [];
  const member = new Member(kafka, {
    groupId: 'group',
    topics: [topic],
    windowRecords: 100,
    windowBytes: 100_000,
    clock: systemClock,
    log,
    observer: { unreadable: ({ partition }) => unreadable.push(`${topic}/${partition}`) },
  });
  member.finishes = true;
  member.start();
  const received = (): string[] => member.received.map(({ value }) => String(value)).toSorted();
  await eventually(() => {
    assert.deepEqual(received(), ['elsewhere', '{"total":19.95}']);
    assert.deepEqual(unreadable, [`${topic}/0`]);
  });
  const [line, ...others] = log.lines.filter(({ level }) => level === 'error');
  assert.deepEqual(others, []);
  assert.match(
    line?.message ?? '',
    /cannot be read; its partition stops before it, and all others continue/,
  );
  const { partition, offset, reason } = (line?.fields ?? {}) as Record<string, unknown>;
  assert.deepEqual([partition, offset], [0, 1]);
  assert.match(String(reason), /checksum/);
  // Its neighbour goes on, and its own commit stays before what cannot be read.
  await write(topic, 1, 'later');
  await eventually(async () => {
    assert.deepEqual(received(), ['elsewhere', 'later', '{"total":19.95}']);
    const committed = await withAdmin(kafka, (admin) => admin.committedOffsets('group', [topic]));
    assert.deepEqual(committed.get(topic), [1, 2]);
  });
  await member.loop.stop(5_000);
  await assert.rejects(readAll(kafka, topic), {
    code: 'input-invalid',
    message: `the records of partition 0 of ${topic} at offset 1 cannot be read`,
  });
});

test('a followed topic with such a bit leaves its follower not loaded and not fresh, and when it is mended everything arrives', async (t) => {
  const pass = passTime(t);
  const topic = 'deletions';
  await makeTopic(topic);
  await write(topic, 0, 'user-1', 'user-2', 'user-3');
  await write(topic, 1, 'user-4');
  const mend = await turnBit(topic, 0, 'user-2');
  const log = new FakeLogger();
  const values: string[] = [];
  const follower = startFollower(kafka, {
    topic,
    log,
    onRecord: ({ value }) => values.push(String(value)),
  });
  t.after(() => follower.stop());
  let isLoaded = false;
  void follower.loaded.then(() => {
    isLoaded = true;
  });
  await eventually(() => {
    assert.deepEqual(values.toSorted(), ['user-1', 'user-4']);
    assert.match(log.visible.join('\n'), /^error: a batch of records cannot be read/m);
  });
  await write(topic, 1, 'user-5');
  await eventually(() => {
    assert.equal(values.length, 3);
  });
  assert.deepEqual([follower.isFresh(), isLoaded], [false, false]);
  await mend();
  // Tried again after half a minute.
  pass(30_000);
  await follower.loaded;
  assert.deepEqual(values.toSorted(), ['user-1', 'user-2', 'user-3', 'user-4', 'user-5']);
  await eventually(() => {
    assert.equal(follower.isFresh(), true);
  });
});
