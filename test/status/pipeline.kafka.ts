import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ensureTopics } from '../../src/kafka/admin.ts';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { readPipeline } from '../../src/status/pipeline.ts';
import { createTopology, type Topology } from '../../src/topology.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';
import { withRawAdmin } from '../kafka/topics.ts';

const prefix = testPrefix();
const topology = topologyWith([10_000]);
const former = topologyWith([420_000, 480_000]);
const dedicated = ['big', 'done'].map((id) => topology.dedicatedTopic(id));
let kafka: KafkaClient;

function topologyWith(retryTiersMs: readonly number[]): Topology {
  return createTopology({
    prefix,
    partitions: 2,
    replicationFactor: 1,
    retryTiersMs,
    extraIngestTopics: [],
  });
}

async function commit(
  groupId: string,
  topic: string,
  partition: number,
  next: number,
): Promise<void> {
  const partitions = [{ partition, offset: String(next) }];
  await withRawAdmin(kafka, (raw) => raw.setOffsets({ groupId, topic, partitions }));
}

before(async () => {
  const { brokers } = await testBroker();
  kafka = createKafka({ brokers, clientId: 'pipeline-test' }, silentLogger);
  const { ingest, ingestAudience, ingestRejected, delivery, deadLetter } = topology.topics;
  const asked = [ingest, ingestAudience, ingestRejected, delivery, deadLetter];
  const tiers = [...topology.all, ...former.all].filter(
    ({ name }) => topology.retryTierMs(name) !== undefined,
  );
  const shared = topology.all.filter(({ name }) => asked.includes(name));
  await ensureTopics(kafka, [...shared, ...tiers, ...dedicated]);
  const producer = await createProducer(kafka, { log: silentLogger });
  const write = (topic: string, partition: number): Promise<unknown> =>
    producer.send([1, 2, 3].map(() => ({ topic, partition, key: null, value: 'x' })));
  const tier = topology.retryTopic(420_000);
  await write(tier, 0);
  await write(tier, 1);
  await commit(topology.groups.delivery, tier, 1, 2);
  const finishedTier = topology.retryTopic(480_000);
  await write(finishedTier, 0);
  await commit(topology.groups.delivery, finishedTier, 0, 3);
  for (const { name } of dedicated) await write(name, 0);
  await commit(topology.dedicatedGroup('big'), topology.dedicatedTopic('big').name, 0, 1);
  await commit(topology.dedicatedGroup('done'), topology.dedicatedTopic('done').name, 0, 3);
  await producer.close(10_000);
});

test('what waits in dedicated topics and in topics of former tiers is told, by their own groups', async () => {
  const startedMs = Date.now();
  const { backlog } = await readPipeline(kafka, topology, startedMs);
  assert.deepEqual(
    backlog.map(({ stage, topic, records }) => [stage, topic, records]),
    [
      ['router', topology.topics.ingest, 0],
      ['router', topology.topics.ingestAudience, 0],
      ['delivery', topology.topics.delivery, 0],
      ['delivery', topology.dedicatedTopic('big').name, 2],
      ['retry', topology.retryTopic(10_000), 0],
      ['retry', topology.retryTopic(420_000), 4],
    ],
  );
  for (const { records, oldest } of backlog) assert.equal(oldest !== undefined, records > 0);
});
