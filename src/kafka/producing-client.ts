import type { ConnectionOptions } from 'node:tls';
import type { SASLOptions } from 'kafkajs';
import type { Logger } from '../ops/log.ts';
import { Connections } from './cluster/connections.ts';
import { WritingCluster } from './cluster/writing-cluster.ts';
import { timeouts } from './kafkajs/broker-connection.ts';
import { connectingAfresh, endIdleTimer } from './kafkajs/replacements.ts';
import { accessOptions } from './kafkajs/current-access.ts';
import { findKafkajs, networkOf, type KafkajsNetwork } from './kafkajs/network.ts';
import { kafkaLog, type KafkaLogEntry } from './kafkajs/kafka-log.ts';
import type { ProducerClient } from './produce/producer.ts';
import { gzip } from './protocol/compressor.ts';

export interface ProducingOptions {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly ssl: ConnectionOptions | undefined;
  readonly sasl: SASLOptions | undefined;
}

interface Loggers {
  readonly createLogger: (options: {
    readonly logCreator: () => (entry: KafkaLogEntry) => void;
  }) => unknown;
}

/**
 * For a process that produces and does nothing else, such as an application with the client library. It uses
 * the kafkajs that the application installed, in which nothing is replaced, and compresses with gzip, as any
 * Node can.
 * @throws Error kafkajs is not installed, or in another version than the one whose inside is used
 */
export function createProducingClient(
  { brokers, clientId, ssl, sasl }: ProducingOptions,
  log: Logger,
): ProducerClient {
  const require = findKafkajs();
  const load = (path: string): unknown => require(`kafkajs/${path}`);
  const network = mended(networkOf(load));
  const { createLogger } = load('src/loggers') as Loggers;
  const logger = createLogger({ logCreator: () => kafkaLog(log) });
  const access = accessOptions(network, {
    ssl: ssl && (() => ssl),
    sasl: sasl && (() => sasl),
  });
  const connections = new Connections({ network, access, clientId, logger, ...timeouts });
  return {
    compressor: gzip,
    openCluster: () => new WritingCluster(brokers, connections),
  };
}

/** Replaces in each object what is replaced in the roles' own copy of kafkajs. The rest only saves CPU time. */
function mended(network: KafkajsNetwork): KafkajsNetwork {
  return {
    ...network,
    ConnectionPool: class extends connectingAfresh(network.ConnectionPool) {
      constructor(options: object) {
        super(options);
        for (const { requestQueue } of this.pool) endIdleTimer(requestQueue);
      }
    },
  };
}
