import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import type { PostriderError } from '../../src/errors.ts';
import { ByteBudget } from '../../src/gateway/byte-budget.ts';
import { GatewayEvents } from '../../src/gateway/events.ts';
import { IngestWriter, type IngestProducer } from '../../src/gateway/ingest-writer.ts';
import { KnownKeys } from '../../src/gateway/known-keys.ts';
import { GatewayMetrics } from '../../src/gateway/metrics.ts';
import { RateLimits } from '../../src/gateway/rate-limits.ts';
import { StrangersTime } from '../../src/gateway/strangers-time.ts';
import { createServer, type ServerOptions } from '../../src/gateway/server.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { systemClock, type SteadyClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { exampleSource } from '../resources/examples.ts';
import { FakeConfig } from '../router/fakes.ts';

/** Acknowledges what it is given, until told to hold it back or to refuse a topic's records. */
export class FakeProducer implements IngestProducer {
  readonly records: OutgoingRecord[] = [];
  readonly held: (() => void)[] = [];
  isHolding = false;
  /** Users whose partition is not acknowledged. */
  readonly leaderless: Set<string> = new Set();
  isClosed = false;
  refuses: (record: OutgoingRecord) => PostriderError | undefined = () => undefined;

  produce(record: OutgoingRecord, done: (refused?: PostriderError) => void): void {
    const answer = (): void => {
      const refused = this.refuses(record);
      if (refused === undefined) this.records.push(record);
      done(refused);
    };
    if (this.isClosed) throw new Error('a producer that is closed takes no more');
    if (this.isHolding || this.leaderless.has(record.key as string)) this.held.push(answer);
    else queueMicrotask(answer);
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }

  /** The values of a topic's records, parsed. */
  calls(topic = 'p.ingest'): Record<string, unknown>[] {
    return this.records
      .filter((record) => record.topic === topic)
      .map(({ value }) => JSON.parse(String(value)) as Record<string, unknown>);
  }
}

export interface TestGatewayOptions extends Partial<ServerOptions> {
  readonly clock?: SteadyClock;
  readonly maxBytes?: number;
  readonly rateLimit?: number;
  readonly ackTimeoutMs?: number;
  /** One for each time that the gateway opens one; the last one is used again. */
  readonly producers?: readonly FakeProducer[];
}

export interface TestGateway {
  readonly server: FastifyInstance;
  readonly producer: FakeProducer;
  readonly config: FakeConfig;
  readonly metrics: GatewayMetrics;
  readonly budget: ByteBudget;
  readonly writer: IngestWriter;
}

export const topics = { ingest: 'p.ingest', ingestRejected: 'p.ingest.rejected' };
/** Basic authentication with the write key of the example source. */
export const auth: { readonly authorization: string } = {
  authorization: `Basic ${Buffer.from('wk_shop:').toString('base64')}`,
};

/** The gateway between HTTP and a fake producer. */
export async function createTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { clock = systemClock, producers = [new FakeProducer()] } = options;
  const config = new FakeConfig(exampleSource());
  const metrics = new GatewayMetrics(new Registry());
  const events = new GatewayEvents(silentLogger, metrics, clock);
  let opened = 0;
  const writer = await IngestWriter.open({
    openProducer: () => {
      const producer = producers[Math.min(opened, producers.length - 1)];
      opened += 1;
      if (producer === undefined) throw new Error('a test gateway needs a producer');
      return Promise.resolve(producer);
    },
    rejectedTopic: topics.ingestRejected,
    ackTimeoutMs: options.ackTimeoutMs ?? 5_000,
    clock,
    events,
  });
  const budget = new ByteBudget(options.maxBytes ?? 64 * 1024 * 1024);
  const { rateLimit } = options;
  const rateLimits = rateLimit === undefined ? undefined : new RateLimits(rateLimit, clock);
  const keys = new KnownKeys(config, clock);
  const server = createServer(
    {
      keys,
      writer,
      budget,
      rateLimits,
      strangersTime: new StrangersTime(clock),
      topics,
      clock,
      events,
    },
    { tls: undefined, corsOrigins: [], trustedProxies: [], ...options },
  );
  const producer = producers[0] ?? new FakeProducer();
  return { server, producer, config, metrics, budget, writer };
}
