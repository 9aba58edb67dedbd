import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { PostriderError } from '../../src/errors.ts';
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

type Answer = (late?: PostriderError) => void;

/** Acknowledges what it is given, until told to hold it back, which it does until a deadline, or to refuse it. */
export class FakeProducer implements IngestProducer {
  readonly records: OutgoingRecord[] = [];
  readonly held: Answer[] = [];
  #together: Answer[] = [];
  isHolding = false;
  /** Users whose partition is not acknowledged. */
  readonly leaderless: Set<string> = new Set();
  isClosed = false;
  /** No broker answers. */
  isAway = false;
  readonly #clock: SteadyClock;
  readonly #deadlineMs: number;
  readonly #waiting: (() => void)[] = [];
  refuses: (record: OutgoingRecord) => PostriderError | undefined = () => undefined;

  constructor(clock: SteadyClock = systemClock, deadlineMs = 5_000) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  produce(record: OutgoingRecord, done: (refused?: PostriderError) => void): void {
    const answer = (late?: PostriderError): void => {
      const refused = late ?? this.refuses(record);
      if (refused === undefined) this.records.push(record);
      done(refused);
    };
    if (this.isClosed) throw new Error('a producer that is closed takes no more');
    if (this.isHolding || this.leaderless.has(record.key as string)) this.#hold(answer);
    else
      queueMicrotask(() => {
        answer();
      });
  }

  /** Records that come together share a timer, because tests measure what requests take. */
  #hold(answer: Answer): void {
    this.held.push(answer);
    this.#together.push(answer);
    if (this.#together.length > 1) return;
    const together = this.#together;
    queueMicrotask(() => (this.#together = []));
    this.#clock.after(this.#deadlineMs, () => {
      for (const each of together) {
        const index = this.held.indexOf(each);
        if (index === -1) continue;
        this.held.splice(index, 1);
        each(new PostriderError('kafka-unavailable', 'not acknowledged in time'));
      }
    });
  }

  async reached(): Promise<void> {
    if (this.isAway) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Brokers answer again. */
  back(): void {
    this.isAway = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
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
export function createTestGateway(options: TestGatewayOptions = {}): TestGateway {
  const { clock = systemClock } = options;
  const config = new FakeConfig(exampleSource());
  const metrics = new GatewayMetrics(new Registry());
  const events = new GatewayEvents(silentLogger, metrics, clock);
  const producer = new FakeProducer(clock, options.ackTimeoutMs);
  const rejectedTopic = topics.ingestRejected;
  const writer = new IngestWriter({ producer, rejectedTopic, clock, events });
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
  return { server, producer, config, metrics, budget, writer };
}
