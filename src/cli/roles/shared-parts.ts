import type { KafkaClient } from '../../kafka/client.ts';
import { createProducer, type Producer } from '../../kafka/produce/producer.ts';
import type { SteadyClock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import type { MetricsRegistry } from '../../ops/metrics.ts';
import { exposeConfig, type Config } from '../../resources/config/config.ts';
import { startConfig } from '../../resources/config/config-store.ts';
import type { SecretKeys } from '../../resources/config/secrets.ts';
import type { Topology } from '../../topology.ts';
import { exposeUnwritable, producerHooks } from './producer-metrics.ts';

/** Parts that every role of a process gets. */
export interface Common {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly clock: SteadyClock;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
}

interface Part {
  stop(): Promise<void>;
}

/** The parts that the roles of a process share. They are closed when the roles have stopped. */
export class SharedParts {
  readonly common: Common;
  readonly #hooks: ReturnType<typeof producerHooks>;
  readonly #closedLast: Part[] = [];
  #config: Config | undefined;
  #producer: Promise<Producer> | undefined;

  constructor(common: Common) {
    this.common = common;
    this.#hooks = producerHooks(common.metrics);
  }

  /** @param secretKeys undefined: secrets stay sealed */
  async followConfig(secretKeys: SecretKeys | undefined): Promise<void> {
    this.#config = this.closeLast(await startConfig({ ...this.common, secretKeys }));
    exposeConfig(this.common.metrics, this.#config);
  }

  /** Only after `followConfig`. */
  get withConfig(): Common & { readonly config: Config } {
    if (this.#config === undefined) throw new Error('a role needs the configuration');
    return { ...this.common, config: this.#config };
  }

  /** The one that roles share; the first of them opens it. */
  producer(): Promise<Producer> {
    return (this.#producer ??= this.openProducer().then((producer) => {
      exposeUnwritable(this.common.metrics, producer);
      return producer;
    }));
  }

  /** One of the caller's own, who closes it. */
  openProducer(deliveryTimeoutMs?: number): Promise<Producer> {
    const { kafka, clock, log } = this.common;
    return createProducer(kafka, { clock, log, hooks: this.#hooks, deliveryTimeoutMs });
  }

  /** The part is stopped when all roles have. */
  closeLast<T extends Part>(part: T): T {
    this.#closedLast.push(part);
    return part;
  }

  async close(): Promise<void> {
    const closing = this.#closedLast.map((part) => part.stop());
    // What Kafka has not acknowledged by now is not committed either: its next owner writes it again.
    const producer = await this.#producer;
    await Promise.all([...closing, producer?.close(0)]);
  }
}
