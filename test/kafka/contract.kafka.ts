import { testPrefix } from '../harness/broker.ts';
import { describeKafka } from '../harness/kafka/contract.ts';
import { testKafka, withRawAdmin } from './topics.ts';

const kafka = await testKafka();

describeKafka({
  prefix: testPrefix(),
  openCluster: () => kafka.openCluster(),
  makeTopic: (topic, numPartitions, config) =>
    withRawAdmin(kafka, (admin) => {
      const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
      const topics = [{ topic, numPartitions, configEntries }];
      return admin.createTopics({ topics, waitForLeaders: false });
    }),
  deleteTopic: (topic) => withRawAdmin(kafka, (admin) => admin.deleteTopics({ topics: [topic] })),
  removeBefore: (topic, partition, offset) =>
    withRawAdmin(kafka, async (admin) => {
      // Only then kafkajs knows who leads the partitions.
      await admin.fetchTopicOffsets(topic);
      return admin.deleteTopicRecords({
        topic,
        partitions: [{ partition, offset: String(offset) }],
      });
    }),
});
