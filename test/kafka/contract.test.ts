import { describeKafka } from '../harness/kafka/contract.ts';
import { FakeBrokers } from './fake-brokers.ts';

const brokers = new FakeBrokers(1);

describeKafka({
  prefix: '',
  openCluster: () => brokers.openCluster(),
  makeTopic: (...topic) => Promise.resolve(brokers.makeTopic(...topic)),
  deleteTopic: (name) => {
    brokers.deleteTopic(name);
    return Promise.resolve();
  },
  removeBefore: (topic, partition, offset) => {
    brokers.log(topic, partition).removeBefore(offset);
    return Promise.resolve();
  },
});
