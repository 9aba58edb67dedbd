import type { KafkaConfig } from 'kafkajs';
import { LogThrottle } from '../ops/log-throttle.ts';
import type { Logger } from '../ops/log.ts';
import { add, exposeTally, type MetricsRegistry, type Tally } from '../ops/metrics.ts';
import { KafkaCluster, type Sharing } from './cluster/cluster.ts';
import { Connections } from './cluster/connections.ts';
import { SharedFetches } from './cluster/shared-fetches.ts';
import { timeouts } from './kafkajs/broker-connection.ts';
import { accessOptions, type BrokerAccess } from './kafkajs/current-access.ts';
import { kafkaLog } from './kafkajs/kafka-log.ts';
import { kafkajs, network } from './kafkajs/library.ts';
import { codecOf, lz4OrZstd } from './protocol/codecs.ts';
import type { Compressor } from './protocol/compressor.ts';

// For transactions, which kafkajs writes.
registerCodecs(kafkajs);

export interface KafkaOptions extends BrokerAccess {
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
  readonly compressor: Compressor = lz4OrZstd;
  /** Empty: unknown. */
  readonly rack: string;
  readonly throttling: Throttling;
  readonly #options: KafkaOptions;
  readonly #connections: Connections;
  readonly #fetches: Readonly<Record<Sharing, SharedFetches>>;

  constructor(options: KafkaOptions, log: Logger) {
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
  openCluster(sharing?: Sharing): KafkaCluster {
    const fetches = sharing === undefined ? undefined : this.#fetches[sharing];
    return new KafkaCluster(this.#options.brokers, this.#connections, fetches);
  }
}

export function createKafka(options: KafkaOptions, log: Logger): KafkaClient {
  return new KafkaClient(options, log);
}

const warnAgainMs = 10_000;

/**
 * The time for which brokers have asked this process to send nothing more over a connection, because it is beyond a
 * quota. Everything takes as much longer, and nothing else shows why.
 */
export class Throttling {
  /** By kind of request. */
  readonly #waitedMs: Tally = new Map();
  readonly #warnings = new LogThrottle(warnAgainMs);
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  throttled(broker: string, apiName: string, throttleMs: number): void {
    add(this.#waitedMs, apiName, throttleMs);
    const unlogged = this.#warnings.pass(performance.now());
    if (unlogged === undefined) return;
    this.#log.warn(
      { broker, request: apiName, throttleMs, unlogged },
      'Kafka slows this process down, because it is beyond a quota',
    );
  }

  expose(registry: MetricsRegistry): void {
    exposeTally(
      registry,
      'postrider_kafka_throttled_seconds_total',
      'Time for which brokers asked this process to wait because of a quota, by kind of request.',
      'request',
      ['Fetch', 'Produce'],
      () => Array.from(this.#waitedMs, ([apiName, ms]) => [apiName, ms / 1_000] as const),
    );
  }
}

/**
 * Registers all codecs with a kafkajs, which brings only gzip. Its numbers are those in a batch's attributes.
 */
export function registerCodecs({
  CompressionCodecs: codecs,
  CompressionTypes: types,
}: Pick<typeof import('kafkajs'), 'CompressionCodecs' | 'CompressionTypes'>): void {
  const of = (attributes: number) => (): object => {
    const codec = codecOf(attributes);
    return {
      compress: ({ buffer }: { readonly buffer: Buffer }) => codec?.compress(buffer),
      decompress: (bytes: Buffer) => codec?.decompress(bytes),
    };
  };
  codecs[types.GZIP] = of(types.GZIP);
  codecs[types.Snappy] = of(types.Snappy);
  codecs[types.LZ4] = of(types.LZ4);
  codecs[types.ZSTD] = of(types.ZSTD);
}
