import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { IngestWriter } from '../../src/gateway/ingest-writer.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { startBrokers } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { makeTopic } from '../kafka/topics.ts';

const cluster = await startBrokers(3);
after(() => cluster.stop());
const kafka = createKafka({ brokers: cluster.brokers, clientId: 'test' }, silentLogger);
const admin = kafka.admin();
await admin.connect();
after(() => admin.disconnect());

const victim = 3;

async function hang(): Promise<void> {
  cluster.hang(victim);
  return Promise.resolve();
}

async function resume(): Promise<void> {
  cluster.resume(victim);
  return Promise.resolve();
}

for (const [what, take, giveBack] of [
  ['is gone', () => cluster.kill(victim), () => cluster.start(victim)],
  ['hangs', hang, resume],
] as const)
  test(`while a broker ${what}, a gateway writes to the partitions of all others`, async () => {
    const topic = await makeTopic(kafka, 3, { 'min.insync.replicas': '1' }, 1);
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const partitions = topics[0]?.partitions ?? [];
    const away = partitions.find(({ leader }) => leader === victim)?.partitionId;
    assert.ok(away !== undefined);
    const producer = await createProducer(kafka, { log: silentLogger, deliveryTimeoutMs: 5_000 });
    const writer = new IngestWriter({
      producer,
      rejectedTopic: 'none',
      clock: systemClock,
      events: {
        kafkaLost: () => assert.fail('Kafka counts as away'),
        kafkaBack: () => undefined,
        givenUp: () => undefined,
        refused: assert.ifError,
      },
    });
    after(() => writer.close(1_000));
    const write = (partition: number): Promise<boolean> =>
      writer.write([{ topic, partition, key: null, value: '{}' }]);
    for (const { partitionId } of partitions) assert.ok(await write(partitionId));
    const writeAmongOthers = async (): Promise<boolean> => {
      let isAwayWritten: boolean | undefined;
      void write(away).then((isWritten) => (isAwayWritten = isWritten));
      while (isAwayWritten === undefined)
        for (const { partitionId } of partitions)
          if (partitionId !== away) assert.ok(await write(partitionId));
      return isAwayWritten;
    };
    await take();
    assert.equal(await writeAmongOthers(), false);
    // What came before is given up, and holds up nothing.
    assert.equal(await writeAmongOthers(), false);
    await giveBack();
    await eventually(async () => {
      assert.ok(await writeAmongOthers());
    }, 60_000);
  });
