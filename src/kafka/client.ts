import { registerCodecs } from './kafkajs/codecs.ts';
import { fetchCheaply } from './kafkajs/fetch-protocol.ts';
import { kafkajs } from './kafkajs/library.ts';

/** What a consumer needs: it reads what others have compressed. */
registerCodecs(kafkajs);
fetchCheaply();

export {
  createBareKafka as createKafka,
  type KafkaClient,
  type KafkaOptions,
} from './bare-client.ts';
