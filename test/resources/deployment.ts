import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../src/kafka/produce/producer.ts';
import { systemClock, type SteadyClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { makeDedicatedTopics, planFiles, recordsOf } from '../../src/resources/apply/apply.ts';
import type { ConfigTopicAccess } from '../../src/resources/config/config-topic.ts';
import { noVariables } from '../../src/resources/apply/interpolate.ts';
import { parseDocuments } from '../../src/resources/apply/document.ts';
import { formatChange } from '../../src/resources/apply/plan.ts';
import type { Resource } from '../../src/resources/resource.ts';
import type { SecretKeys } from '../../src/resources/config/secrets.ts';
import { toDocument } from '../../src/resources/config/stored.ts';
import { createTopics, inspectTopics } from '../../src/resources/topics.ts';
import { createTopology } from '../../src/topology.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';
import { exampleBounds, exampleKeys } from './examples.ts';

export interface TestDeployment extends ConfigTopicAccess {
  readonly clock: SteadyClock;
  readonly brokers: readonly string[];
  readonly kafka: KafkaClient;
  readonly producer: Producer;
  /** Applies, and returns the changes as `apply` prints them. */
  apply(resources: readonly Resource[], options?: ApplyOptions): Promise<readonly string[]>;
  stop(): Promise<void>;
}

interface ApplyOptions {
  readonly secretKeys?: SecretKeys;
  readonly prune?: boolean;
}

/** Topics of its own on the tests' broker. */
export async function testDeployment(): Promise<TestDeployment> {
  const { brokers } = await testBroker();
  const kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
  const topology = createTopology({
    prefix: testPrefix(),
    partitions: 2,
    replicationFactor: 1,
    retryTiersMs: [1_000],
    extraIngestTopics: [],
  });
  const access = { kafka, topology, clock: systemClock, log: silentLogger };
  await createTopics(kafka, await inspectTopics(access));
  const producer = await createProducer(kafka, { log: silentLogger });
  return {
    ...access,
    brokers,
    producer,
    apply: async (resources, { secretKeys = exampleKeys, prune = false } = {}) => {
      const text = resources.map((each) => JSON.stringify(toDocument(each))).join('\n---\n');
      const files = parseDocuments('f.yaml', text, 'yaml', noVariables);
      const { changes } = await planFiles(access, files, {
        secretKeys,
        prune,
        rename: false,
        newKey: false,
        takeOver: false,
        endOverlap: false,
        ...exampleBounds,
      });
      await makeDedicatedTopics(access, changes);
      const topic = topology.topics.config;
      await producer.send(recordsOf(changes).map((each) => ({ topic, partition: 0, ...each })));
      return changes.map(formatChange);
    },
    stop: () => producer.close(5_000),
  };
}
