import type { Logger } from '../ops/log.ts';
import { KafkaClient, type KafkaOptions } from './bare-client.ts';
import { registerCodecs } from './kafkajs/codecs.ts';
import { kafkajs } from './kafkajs/library.ts';
import { lz4OrZstd } from './protocol/codecs.ts';

// For transactions, which kafkajs writes.
registerCodecs(kafkajs);

export type { KafkaClient, KafkaOptions } from './bare-client.ts';

/** Compresses with what is quickest for the size. */
export function createKafka(options: KafkaOptions, log: Logger): KafkaClient {
  return new KafkaClient(options, log, lz4OrZstd);
}
