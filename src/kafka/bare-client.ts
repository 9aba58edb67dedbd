import type { KafkaConfig } from 'kafkajs';
import type { Logger } from '../ops/log.ts';
import { KafkaCluster, type Cluster, type Sharing } from './cluster/cluster.ts';
import { Connections } from './cluster/connections.ts';
import { SharedFetches } from './cluster/shared-fetches.ts';
import { timeouts } from './kafkajs/broker-connection.ts';
import { accessOptions, type Access } from './kafkajs/current-access.ts';
import { kafkaLog } from './kafkajs/kafka-log.ts';
import { kafkajs, network } from './kafkajs/library.ts';
import type { Compressor } from './protocol/compressor.ts';
import { gzip } from './protocol/gzip.ts';
import { Throttling } from './throttling.ts';

export interface KafkaOptions extends Access {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** The zone of this process: records are read from a replica in it where brokers say that there is one. */
  readonly rack?: string;
  /** The number of times that kafkajs tries again by itself; enough for a broker's restart where not given. */
  readonly retries?: number;
}

/**
 * The client that the other stages hold: they pass it on and never look inside. kafkajs has admin and
 * transactions; records are read and written over a cluster of one's own.
 */
export class KafkaClient extends kafkajs.Kafka {
  /** The compression of its producers. */
  readonly compressor: Compressor;
  /** Empty: unknown. */
  readonly rack: string;
  readonly throttling: Throttling;
  readonly #options: KafkaOptions;
  readonly #connections: Connections;
  readonly #fetches: Readonly<Record<Sharing, SharedFetches>>;

  constructor(options: KafkaOptions, log: Logger, compressor: Compressor) {
    const access = accessOptions(network, options);
    super({
      brokers: [...options.brokers],
      clientId: options.clientId,
      ...(access as Pick<KafkaConfig, 'socketFactory' | 'ssl' | 'sasl'>),
      ...timeouts,
      // At most 2 s between attempts, so that work resumes soon after an outage; about 12 s in all.
      retry: { initialRetryTime: 200, maxRetryTime: 2_000, retries: options.retries ?? 8 },
      logLevel: kafkajs.logLevel.INFO,
      logCreator: () => kafkaLog(log),
    });
    this.compressor = compressor;
    this.rack = options.rack ?? '';
    this.#options = options;
    const throttling = new Throttling(log);
    this.throttling = throttling;
    const connections = new Connections({
      clientId: options.clientId,
      access,
      network,
      ...timeouts,
      logger: this.logger(),
      throttled: (broker, apiName, throttleMs) => {
        throttling.throttled(broker, apiName, throttleMs);
      },
    });
    this.#connections = connections;
    this.#fetches = {
      read: new SharedFetches(connections, 'read'),
      follow: new SharedFetches(connections, 'follow'),
    };
  }

  /** Connects when something is asked; whoever opens it closes it. See `ClusterClient`. */
  openCluster(sharing?: Sharing): Cluster {
    const fetches = sharing === undefined ? undefined : this.#fetches[sharing];
    return new KafkaCluster(this.#options.brokers, this.#connections, fetches);
  }
}

/** Compresses with gzip, as any Node can. */
export function createBareKafka(options: KafkaOptions, log: Logger): KafkaClient {
  return new KafkaClient(options, log, gzip);
}
