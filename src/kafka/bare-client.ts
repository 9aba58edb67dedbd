import type { ConnectionOptions } from 'node:tls';
import type { Kafka, SASLOptions } from 'kafkajs';
import type { Logger } from '../ops/log.ts';
import { kafkaLog } from './kafkajs/kafka-log.ts';
import { kafkajs } from './kafkajs/library.ts';

/** What the other stages hold of kafkajs: they pass it on and never look inside. */
export type KafkaClient = Kafka;

export interface KafkaOptions {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly ssl?: ConnectionOptions;
  readonly sasl?: SASLOptions;
  /** How often the client tries again by itself; enough for a broker's restart where not given. */
  readonly retries?: number;
}

/** With kafkajs's own codecs only: enough for a producer that compresses with gzip, on any Node. */
export function createBareKafka(options: KafkaOptions, log: Logger): KafkaClient {
  return new kafkajs.Kafka({
    brokers: [...options.brokers],
    clientId: options.clientId,
    ...(options.ssl === undefined ? {} : { ssl: options.ssl }),
    ...(options.sasl === undefined ? {} : { sasl: options.sasl }),
    // kafkajs's default of 1 s is too short for TLS to a cloud region under load.
    connectionTimeout: 5_000,
    // How long a broker that hangs, without closing its connections, can hold a request up.
    requestTimeout: 20_000,
    // At most 2 s between attempts, so that work resumes soon after an outage; about 12 s in all.
    retry: { initialRetryTime: 200, maxRetryTime: 2_000, retries: options.retries ?? 8 },
    logLevel: kafkajs.logLevel.INFO,
    logCreator: () => kafkaLog(log),
  });
}
