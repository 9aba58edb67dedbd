import type { ConnectionOptions } from 'node:tls';
import kafkajs from 'kafkajs';
import type { Kafka, SASLOptions } from 'kafkajs';
import type { Logger } from '../ops/log.ts';

/** What the other stages hold of kafkajs: they pass it on and never look inside. */
export type KafkaClient = Kafka;

export interface KafkaOptions {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly ssl?: ConnectionOptions;
  readonly sasl?: SASLOptions;
}

/** One per process. Connects only when a producer, consumer or admin made from it does. */
export function createKafka(options: KafkaOptions, log: Logger): KafkaClient {
  return new kafkajs.Kafka({
    brokers: [...options.brokers],
    clientId: options.clientId,
    ...(options.ssl === undefined ? {} : { ssl: options.ssl }),
    ...(options.sasl === undefined ? {} : { sasl: options.sasl }),
    logLevel: kafkajs.logLevel.INFO,
    logCreator:
      () =>
      ({ log: { message, ...fields } }) => {
        log.debug(fields, message);
      },
  });
}
