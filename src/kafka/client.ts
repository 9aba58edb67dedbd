import type { Logger } from '../ops/log.ts';
import { createBareKafka, type KafkaClient, type KafkaOptions } from './bare-client.ts';
import { registerCodecs } from './kafkajs/codecs.ts';
import { fetchCheaply } from './kafkajs/fetch-protocol.ts';

export type { KafkaClient, KafkaOptions } from './bare-client.ts';

/** One per process. Connects only when a producer, consumer or admin made from it does. */
export function createKafka(options: KafkaOptions, log: Logger): KafkaClient {
  registerCodecs();
  fetchCheaply();
  return createBareKafka(options, log);
}
