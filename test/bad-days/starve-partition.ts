import assert from 'node:assert/strict';
import kafkajs, { type Admin } from 'kafkajs';
import { eventually } from '../harness/eventually.ts';
import type { KafkaView } from '../harness/kafka-view.ts';

const { ConfigResourceTypes, ConfigSource } = kafkajs;
const throttledReplicas = 'follower.replication.throttled.replicas';
const throttledRate = 'follower.replication.throttled.rate';
/**
 * Takes a partition's followers away: new ones are on their way, and get nothing, so that the leader is
 * alone and answers NOT_ENOUGH_REPLICAS. One replica by itself would be enough: Kafka asks for no more
 * in-sync replicas than a partition has. Followers that are in sync are never held back, so that the other
 * partitions feel nothing, but what they fetch counts: there must be traffic.
 *
 * Resolves when the leader is alone; gives what ends the trouble.
 */
export async function starvePartition(
  kafka: KafkaView,
  topic: string,
  partition: number,
): Promise<() => Promise<void>> {
  const { leader, replicas } = await kafka.partition(topic, partition);
  const followers = replicas.filter((nodeId) => nodeId !== leader);
  await kafka.ask((admin) => throttleTopic(admin, kafka.name(topic)));
  await kafka.ask((admin) => setRate(admin, followers, '1'));
  await kafka.reassign(topic, partition, [leader]);
  await eventually(async () => {
    assert.deepEqual((await kafka.partition(topic, partition)).replicas, [leader]);
  });
  await kafka.reassign(topic, partition, [leader, ...followers]);
  await eventually(async () => {
    const { replicas: wanted, isr } = await kafka.partition(topic, partition);
    assert.deepEqual([wanted.length, isr], [replicas.length, [leader]]);
  });
  return () => kafka.ask((admin) => setRate(admin, followers, undefined));
}

/** Altering a topic's settings replaces all of them. */
async function throttleTopic(admin: Admin, name: string): Promise<void> {
  const type = ConfigResourceTypes.TOPIC;
  const { resources } = await admin.describeConfigs({
    resources: [{ type, name }],
    includeSynonyms: false,
  });
  const own = (resources[0]?.configEntries ?? [])
    .filter(({ configSource }) => configSource === ConfigSource.TOPIC_CONFIG)
    .map(({ configName, configValue }) => ({ name: configName, value: configValue }));
  const configEntries = [...own, { name: throttledReplicas, value: '*' }];
  await admin.alterConfigs({ validateOnly: false, resources: [{ type, name, configEntries }] });
}

/** Bytes a second; undefined: as many as there are. */
async function setRate(
  admin: Admin,
  nodeIds: readonly number[],
  rate: string | undefined,
): Promise<void> {
  await admin.alterConfigs({
    validateOnly: false,
    resources: nodeIds.map((nodeId) => ({
      type: ConfigResourceTypes.BROKER,
      name: String(nodeId),
      configEntries: rate === undefined ? [] : [{ name: throttledRate, value: rate }],
    })),
  });
}
