import { deliveryKey, type Envelope } from '../../src/event/envelope.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import type { OwnedIndexes } from '../../src/delivery/lane/work-shares.ts';
import { partitionKeyOf, type Destination } from '../../src/resources/resource.ts';
import { seededRandom, SimulatedClock } from '../delivery/simulated-clock.ts';
import { SimulatedWorld } from '../delivery/simulated-world.ts';
import type { Placed, WorldOptions } from '../delivery/simulated-world.ts';

/** Several workers of one group, with the partitions of all topics dealt among them by index. */
export class Deployment {
  readonly clock: SimulatedClock = new SimulatedClock();
  readonly workers: SimulatedWorld[];
  readonly #partitions: number;
  readonly #random: () => number;
  #owners: SimulatedWorld[] = [];
  #users = 0;

  constructor(workers: number, partitions: number, options: WorldOptions = {}) {
    const { clock } = this;
    this.#partitions = partitions;
    this.#random = seededRandom(options.seed ?? 1);
    this.workers = Array.from({ length: workers }, (_, index) => {
      const seed = (options.seed ?? 1) * 1_000 + index;
      const worker = new SimulatedWorld({ ...options, clock, partitions, seed, name: `w${index}` });
      worker.readerOf = (record) => this.#readerOf(record);
      return worker;
    });
    this.deal(this.workers);
  }

  /** Deals all partitions anew; what was not finished is read again by its new owner. */
  deal(workers: readonly SimulatedWorld[]): void {
    const former = this.#owners;
    this.#owners = Array.from({ length: this.#partitions }, (_, index) => {
      const owner = workers[index % workers.length];
      if (owner === undefined) throw new RangeError('no worker');
      return owner;
    });
    const readAgain: OutgoingRecord[] = [];
    former.forEach((worker, index) => {
      if (this.#ownerOf(index) === worker) return;
      const { topics, retryTiersMs } = worker.topology;
      const retryTopics = retryTiersMs.map((tierMs) => worker.topology.retryTopic(tierMs));
      for (const topic of [topics.delivery, ...retryTopics])
        readAgain.push(...worker.lose(topic, index));
    });
    // As in production: a worker knows what is its own before it reads any of it.
    for (const worker of this.workers) worker.engine.sharesChanged(ownedBy(worker, this.#owners));
    for (const record of readAgain) this.write(record);
  }

  addDestination(id: string, changes: Partial<Destination> = {}): void {
    for (const worker of this.workers) worker.addDestination(id, changes);
  }

  /** From a user of its own, unless one is given. */
  publish(
    destinationId: string,
    user: string = `u${this.#users++}`,
    changes: Partial<Envelope> = {},
  ): string {
    const key = deliveryKey(destinationId, user);
    const destination = this.workers[0]?.destinations.get(destinationId);
    const partitionKey = destination === undefined ? undefined : partitionKeyOf(destination);
    return this.#readerOf({ key, partitionKey }).publish(destinationId, user, changes);
  }

  /** By somebody else than a worker. */
  write(record: OutgoingRecord): void {
    this.#readerOf(record).take(record);
  }

  /** Of these events, those that are neither delivered nor dead letters. */
  unended(ids: readonly string[]): string[] {
    const ended = new Set(
      this.workers.flatMap(({ delivered, deadLetters }) => [
        ...delivered,
        ...deadLetters.map(({ messageId }) => messageId),
      ]),
    );
    return ids.filter((id) => !ended.has(id));
  }

  get random(): () => number {
    return this.#random;
  }

  #readerOf(record: Placed): SimulatedWorld {
    const worker = this.workers[0];
    if (worker === undefined) throw new RangeError('no worker');
    return this.#ownerOf(worker.partitionOf(record));
  }

  #ownerOf(partition: number): SimulatedWorld {
    const owner = this.#owners[partition];
    if (owner === undefined) throw new RangeError(`nobody owns partition ${partition}`);
    return owner;
  }
}

/** @param owners of each partition index */
export function ownedBy(worker: SimulatedWorld, owners: readonly SimulatedWorld[]): OwnedIndexes {
  const indexes = new Set<number>();
  owners.forEach((owner, index) => {
    if (owner === worker) indexes.add(index);
  });
  return { indexes, count: owners.length };
}
