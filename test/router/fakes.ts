import { silentLogger } from '../../src/ops/log.ts';
import { Registry } from 'prom-client';
import { SimulatedClock } from '../delivery/simulated-clock.ts';
import type { PostriderError } from '../../src/errors.ts';
import { TakenRecord } from '../../src/kafka/consume/taken-record.ts';
import { OffsetTracker } from '../../src/kafka/consume/offset-tracker.ts';
import type { IncomingRecord, OutgoingRecord, TopicPartition } from '../../src/kafka/record.ts';
import { ConfigIndex, type FollowedResource } from '../../src/resources/config/config-index.ts';
import { noRegistry, type Schemas } from '../../src/schemas/schemas.ts';
import { CallRouter, type PendingCall } from '../../src/router/call-router.ts';
import { Duplicates } from '../../src/router/duplicates.ts';
import { RouterEvents } from '../../src/router/events.ts';
import { RouterMetrics } from '../../src/router/metrics.ts';
import { Routes, type RouterConfig } from '../../src/router/route-call.ts';

export const appendTimeMs: number = Date.parse('2026-11-20T18:59:40.123Z');
export const audienceTopic = 'p.ingest.audience';
export const topics = {
  shared: 'p.delivery',
  dedicated: (id: string): string => `p.delivery.${id}`,
};

export function incoming(call: object | string | Buffer, changes: object = {}): IncomingRecord {
  const text = typeof call === 'string' || Buffer.isBuffer(call) ? call : JSON.stringify(call);
  return {
    topic: 'p.ingest',
    partition: 3,
    offset: 42,
    timestampMs: appendTimeMs,
    key: Buffer.from('u1'),
    value: Buffer.from(text as string),
    headers: {},
    ...changes,
  };
}

/** The configuration that has these resources; `put` changes it. */
export class FakeConfig implements RouterConfig {
  readonly #index = new ConfigIndex();
  offset = 0;

  constructor(...resources: readonly FollowedResource[]) {
    for (const resource of resources) this.put(resource);
  }

  put(resource: FollowedResource): void {
    this.#index.put(resource);
    this.offset += 1;
  }

  caughtUp(): Promise<void> {
    return Promise.resolve();
  }

  source(id: string): ReturnType<RouterConfig['source']> {
    return this.#index.source(id);
  }

  sourceByWriteKey(writeKey: string): ReturnType<RouterConfig['sourceByWriteKey']> {
    return this.#index.sourceByWriteKey(writeKey);
  }

  destinationsOf(sourceId: string): ReturnType<RouterConfig['destinationsOf']> {
    return this.#index.destinationsOf(sourceId);
  }
}

export interface Written {
  readonly record: OutgoingRecord;
  readonly done: (refused?: PostriderError) => void;
}

/** A call router between a fake consume loop and a fake producer. */
export class TestRouter {
  readonly config: FakeConfig;
  readonly clock: SimulatedClock = new SimulatedClock(appendTimeMs);
  readonly written: Written[] = [];
  readonly finished: number[] = [];
  readonly released: number[] = [];
  /** The offsets of records that were set aside. */
  readonly aside: number[] = [];
  readonly suppressed: Map<string, number> = new Map();
  readonly metrics: RouterMetrics = new RouterMetrics(new Registry());
  schemas: Schemas = noRegistry;
  readonly #router: CallRouter;
  /** Answers the oldest look at the configuration that is under way. */
  readonly looks: (() => void)[] = [];

  constructor(...resources: readonly FollowedResource[]) {
    this.config = new FakeConfig(...resources);
    this.#router = new CallRouter({
      routes: new Routes(this.config, topics),
      caughtUp: () =>
        new Promise((resolve) => {
          this.looks.push(resolve);
        }),
      sink: {
        produce: (record, done) => {
          this.written.push({ record, done });
        },
      },
      sharedTopic: topics.shared,
      clock: this.clock,
      rejectedTopic: 'p.ingest.rejected',
      audienceTopic,
      suppressed: this.suppressed,
      duplicates: new Duplicates<PendingCall>({
        windowMs: 600_000,
        mostIds: 256,
        onPushedOut: () => undefined,
      }),
      schemas: {
        find: (id) => this.schemas.find(id),
        settled: (id) => this.schemas.settled(id),
      },
      events: new RouterEvents(silentLogger, this.metrics, this.clock),
    });
  }

  take(...records: readonly IncomingRecord[]): void {
    const owner = {
      finish: (slot: number): void => {
        this.finished.push(slot);
      },
      release: (slot: number): void => {
        this.released.push(slot);
      },
      setAside: (slot: number): void => {
        this.aside.push(slot);
      },
      tracker: new OffsetTracker(0),
    };
    this.#router.take(records.map((record) => new TakenRecord(record, owner, record.offset)));
  }

  get heldCalls(): number {
    return this.#router.heldCalls;
  }

  drop(...partitions: readonly TopicPartition[]): void {
    this.#router.drop(partitions);
  }

  stop(): void {
    this.#router.stop();
  }

  get isIdle(): boolean {
    return this.#router.isIdle;
  }

  get stalledRecords(): number {
    return this.#router.stalledRecords;
  }

  acknowledge(): void {
    for (const { done } of this.written.splice(0)) done();
  }

  async look(): Promise<void> {
    this.looks.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
