import { ByteWriter, stringBytes } from '../protocol/fields.ts';
import { parseBroker, type HostPort } from '../protocol/metadata.ts';
import type { Connection, ConnectionPool, RequestQueue } from './network.ts';

/** kafkajs makes each of its connections in a pool, those of admins and transactions too. */
type PoolClass = new (options: object) => ConnectionPool;

/**
 * If a connection ends amid an answer, kafkajs keeps what it has of it and takes the next connection's first
 * bytes for the rest. It then waits for an answer of the length that it finds there, or throws where nobody
 * can catch it.
 */
export function connectingAfresh(Original: PoolClass): PoolClass {
  return class extends Original {
    constructor(options: object) {
      super(options);
      for (const connection of this.pool) connectAfresh(connection);
    }
  };
}

function connectAfresh(connection: Connection): void {
  const connect = connection.connect.bind(connection);
  connection.connect = async () => {
    if (!connection.isConnected()) {
      connection.chunks = [];
      connection.bytesBuffered = 0;
      connection.bytesNeeded = lengthBytes;
    }
    return connect();
  };
}

/** The length that stands before each request and each answer. */
const lengthBytes = 4;

/**
 * kafkajs sets a timer for each connection to look for requests that wait for a throttle to end, and sets it
 * again, with a negative delay, when there are none: the process wakes up every millisecond without end
 * (tulios/kafkajs#1751, #1556). Nothing is lost by not setting it then, because each request that has to wait
 * sets it itself.
 */
function needsTimer({ pending }: RequestQueue): boolean {
  return pending.length > 0;
}

/** For a queue of a kafkajs without replaced modules. */
export function endIdleTimer(queue: RequestQueue): void {
  const schedule = queue.scheduleCheckPendingRequests.bind(queue);
  queue.scheduleCheckPendingRequests = () => {
    if (needsTimer(queue)) schedule();
  };
}

/**
 * kafkajs keeps unanswered requests in a Map. It is filled and emptied with every fetch, and so kept every
 * answer, with all of its records, from young collections, which was a large part of the collector's work in
 * a consumer.
 */
export function queueingCheaply(
  Original: new (...parameters: never[]) => RequestQueue,
): new (...parameters: never[]) => RequestQueue {
  return class extends Original {
    inflight = new ShortStayTable();

    override scheduleCheckPendingRequests(): void {
      if (needsTimer(this)) super.scheduleCheckPendingRequests();
    }
  };
}

/**
 * Replaces a Map whose keys come and go. V8 moves such a Map to a new table every few keys, and the old table
 * refers to the new one. After one full collection, all later tables, and with them every value that was ever
 * in one, survive young collections until the next full one.
 */
export class ShortStayTable<K extends string | number, V> {
  #values = noValues<V>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    return this.#values[key];
  }

  has(key: K): boolean {
    return key in this.#values;
  }

  set(key: K, value: V): this {
    if (!this.has(key)) this.#size += 1;
    this.#values[key] = value;
    return this;
  }

  delete(key: K): boolean {
    if (!this.has(key)) return false;
    this.#size -= 1;
    return Reflect.deleteProperty(this.#values, key);
  }

  clear(): void {
    this.#values = noValues<V>();
    this.#size = 0;
  }

  values(): IterableIterator<V> {
    return Object.values<V>(this.#values).values();
  }

  forEach(callback: (value: V) => void): void {
    for (const value of this.values()) callback(value);
  }
}

function noValues<V>(): Record<string | number, V> {
  return Object.create(null) as Record<string | number, V>;
}

export interface FramedRequest {
  readonly correlationId: number;
  readonly clientId: string | null;
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly encode: () => Promise<{ readonly buffer: Buffer }>;
  };
}

/**
 * A request with its length and header. kafkajs copies it twice, into zeroed buffers up to twice its size.
 */
export async function frameRequest({
  correlationId,
  clientId,
  request,
}: FramedRequest): Promise<ByteWriter> {
  const { buffer } = await request.encode();
  const bytes = headerBytes + stringBytes(clientId) + buffer.length;
  return new ByteWriter(lengthBytes + bytes)
    .int32(bytes)
    .int16(request.apiKey)
    .int16(request.apiVersion)
    .int32(correlationId)
    .string(clientId)
    .bytes(buffer);
}

/** Length of the header without the client's id. */
const headerBytes = 8;

interface DescribedPartition {
  partitionErrorCode: number;
}

/** The part of kafkajs's module that judges an answer about topics. */
interface MetadataAnswer {
  parse(data: {
    readonly topicMetadata: readonly {
      readonly partitionMetadata: readonly DescribedPartition[];
    }[];
  }): Promise<unknown>;
}

/**
 * A partition without a leader affects only itself; kafkajs fails every request about the cluster while there
 * is one. A request to that partition's leader still fails.
 */
export function tolerateLeaderless(original: MetadataAnswer): MetadataAnswer {
  return {
    ...original,
    parse: (data) => {
      for (const { partitionMetadata } of data.topicMetadata)
        for (const partition of partitionMetadata) partition.partitionErrorCode = 0;
      return original.parse(data);
    },
  };
}

interface Builder {
  build(broker?: Partial<HostPort>): Promise<ConnectionPool>;
}

type CreateBuilder = (options: { readonly brokers: readonly string[] }) => Builder;

/** kafkajs splits the address of a seed broker at its first colon, which an IPv6 address has within. */
export function parsingSeeds(original: CreateBuilder): CreateBuilder {
  return (options) => {
    const builder = original(options);
    const seeds = options.brokers.map(parseBroker);
    let turn = 0;
    return {
      build: (broker) =>
        builder.build(broker?.host === undefined ? seeds[turn++ % seeds.length] : broker),
    };
  };
}
