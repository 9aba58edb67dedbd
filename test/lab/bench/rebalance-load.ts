import { setTimeout as delay } from 'node:timers/promises';
import { deliveryKey } from '../../../src/event/envelope.ts';
import { partitionOf } from '../../../src/kafka/produce/partitioner.ts';
import type { Producer } from '../../../src/kafka/produce/producer.ts';
import type { Behaviour } from './stand-endpoints.ts';
import { eventOf } from './stand-load.ts';

/** Events whose number says which partition they go to, and when each arrived. */

export const partitions = 12;
const fastOnes = 10;
const usersPerPartition = 20;
const stepMs = 1;

/** No factor of the number of partitions: each of them always has events that are not answered yet. */
const slowEvery = 97;

export interface LoadDestination {
  readonly id: string;
  readonly behaviour: Behaviour;
  /** By partition. */
  readonly users: readonly (readonly string[])[];
}

export const fastDestinations: readonly LoadDestination[] = Array.from(
  { length: fastOnes },
  (_, index) => destinationOf(`fast-${index}`, 'healthy'),
);
const slow = destinationOf('slow', 'slow');

export const allDestinations: readonly LoadDestination[] = [...fastDestinations, slow];

function destinationOf(id: string, behaviour: Behaviour): LoadDestination {
  const users = Array.from({ length: partitions }, (): string[] => []);
  for (let n = 0; users.some(({ length }) => length < usersPerPartition); n += 1)
    users[partitionOf(deliveryKey(id, `user-${n}`), partitions)]?.push(`user-${n}`);
  return { id, behaviour, users };
}

function partitionOfEvent(n: number): number {
  return n % partitions;
}

function isSlow(n: number): boolean {
  return n % slowEvery === 0;
}

/** The event with that number; some are for the slow endpoint. */
export function mixedEvent(topic: string, n: number): ReturnType<typeof eventOf> {
  return isSlow(n) ? eventFor(slow, topic, n) : fastEvent(topic, n);
}

/** The event with that number, for a fast endpoint. */
export function fastEvent(topic: string, n: number): ReturnType<typeof eventOf> {
  return eventFor(fastDestinations[roundOf(n) % fastOnes] ?? slow, topic, n);
}

function eventFor(
  destination: LoadDestination,
  topic: string,
  n: number,
): ReturnType<typeof eventOf> {
  const users = destination.users[partitionOfEvent(n)] ?? [];
  return eventOf(topic, destination, users[roundOf(n) % usersPerPartition] ?? '', n);
}

function roundOf(n: number): number {
  return Math.floor(n / partitions);
}

/** What arrived, by the events' numbers. */
export class NumberedArrivals {
  /** Arrivals of an event beside its first. */
  repeated = 0;
  /** Events that have arrived. */
  unique = 0;
  readonly #hasArrived: boolean[] = [];
  /** When a partition's events for fast endpoints arrived for the first time, by the steady clock. */
  readonly #arrivedMs: number[][] = Array.from({ length: partitions }, () => []);

  arrived(n: number): void {
    if (this.#hasArrived[n] === true) {
      this.repeated += 1;
      return;
    }
    this.#hasArrived[n] = true;
    this.unique += 1;
    if (!isSlow(n)) this.#arrivedMs[partitionOfEvent(n)]?.push(performance.now());
  }

  /** The longest time within these during which nothing of the partition arrived. */
  longestSilenceMs(partition: number, fromMs: number, untilMs: number): number {
    let longestMs = 0;
    let beforeMs = fromMs;
    for (const arrivedMs of this.#arrivedMs[partition] ?? []) {
      if (arrivedMs < fromMs) continue;
      longestMs = Math.max(longestMs, Math.min(arrivedMs, untilMs) - beforeMs);
      if (arrivedMs > untilMs) return longestMs;
      beforeMs = arrivedMs;
    }
    return Math.max(longestMs, untilMs - beforeMs);
  }
}

/** Writes events at a steady rate until it is stopped. */
export class NumberedLoad {
  /** How many there are. */
  written = 0;
  /** How long the load itself once stood still: what is silent for less may be so because of that. */
  longestPauseMs = 0;
  #isStopped = false;
  readonly #running: Promise<void>;

  constructor(producer: Producer, topic: string, eventsPerSecond: number) {
    this.#running = this.#run(producer, topic, eventsPerSecond);
  }

  /** What has been written until now. */
  async stop(): Promise<number> {
    this.#isStopped = true;
    await this.#running;
    return this.written;
  }

  async #run(producer: Producer, topic: string, eventsPerSecond: number): Promise<void> {
    const startedMs = performance.now();
    let lastMs = startedMs;
    while (!this.#isStopped) {
      const nowMs = performance.now();
      this.longestPauseMs = Math.max(this.longestPauseMs, nowMs - lastMs);
      lastMs = nowMs;
      const due = ((nowMs - startedMs) / 1_000) * eventsPerSecond;
      for (; this.written < due; this.written += 1)
        producer.produce(mixedEvent(topic, this.written), () => undefined);
      await delay(stepMs);
    }
  }
}
