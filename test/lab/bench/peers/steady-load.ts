import { setTimeout as delay } from 'node:timers/promises';
import type { Producer } from '../../../../src/kafka/produce/producer.ts';
import { eventFor } from './events.ts';

const stepMs = 1;

/** Writes events at a steady rate, in turn to some destinations, until it is stopped. */
export class SteadyLoad {
  /** By destination. */
  readonly written: Map<string, number> = new Map<string, number>();
  destinations: readonly string[];
  /** That of the next event. */
  nextNumber = 0;
  #isStopped = false;
  readonly #running: Promise<void>;

  /** @param eventsPerSecond for each destination */
  constructor(
    producer: Producer,
    topic: string,
    destinations: readonly string[],
    eventsPerSecond: number,
  ) {
    this.destinations = destinations;
    this.#running = this.#run(producer, topic, eventsPerSecond);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(producer: Producer, topic: string, eventsPerSecond: number): Promise<void> {
    const startedMs = performance.now();
    let rounds = 0;
    while (!this.#isStopped) {
      const due = ((performance.now() - startedMs) / 1_000) * eventsPerSecond;
      for (; rounds < due; rounds += 1)
        for (const id of this.destinations) this.#write(producer, topic, id);
      await delay(stepMs);
    }
  }

  #write(producer: Producer, topic: string, id: string): void {
    producer.produce(eventFor(topic, id, this.nextNumber), () => undefined);
    this.nextNumber += 1;
    this.written.set(id, (this.written.get(id) ?? 0) + 1);
  }
}
