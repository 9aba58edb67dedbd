import { seededRandom } from '../delivery/simulated-clock.ts';
import { SimulatedWorld } from '../delivery/simulated-world.ts';
import type { WorldOptions } from '../delivery/simulated-world.ts';
import type { Destination } from '../../src/resources/resource.ts';

const stepMs = 10;

/** Events for one destination. */
export interface Traffic {
  readonly destination: string;
  readonly perSecond: number;
  /** From so many users, each as often as the others; default 1,000. */
  readonly users?: number;
}

interface Published {
  readonly destination: string;
  readonly user: string;
  readonly atMs: number;
}

/** A worker with the partitions of its topics, and a ledger of what became of each event. */
export class Scene {
  readonly world: SimulatedWorld;
  readonly #random: () => number;
  readonly #published = new Map<string, Published>();
  readonly #deliveredMs = new Map<string, number>();
  #users = 0;

  constructor(options: WorldOptions = {}) {
    this.world = new SimulatedWorld({ partitions: 12, ...options });
    this.#random = seededRandom(options.seed ?? 1);
    this.world.onDelivered = (id) => {
      if (!this.#deliveredMs.has(id)) this.#deliveredMs.set(id, this.world.clock.now());
    };
  }

  addDestinations(count: number, name: string, changes: Partial<Destination> = {}): string[] {
    const ids = Array.from({ length: count }, (_, n) => `${name}-${n}`);
    for (const id of ids) this.world.addDestination(id, changes);
    return ids;
  }

  /** From a user of its own, unless one is given. */
  publish(destination: string, user: string = `u${this.#users++}`): void {
    const id = this.world.publish(destination, user);
    this.#published.set(id, { destination, user, atMs: this.world.clock.now() });
  }

  /** Random arrivals for so long. */
  async run(forMs: number, traffic: readonly Traffic[]): Promise<void> {
    for (let ms = 0; ms < forMs; ms += stepMs) {
      for (const { destination, perSecond, users = 1_000 } of traffic) {
        const mean = (perSecond * stepMs) / 1_000;
        for (let events = Math.floor(mean + this.#random()); events > 0; events--)
          this.publish(destination, `u${Math.floor(this.#random() * users)}`);
      }
      await this.world.clock.pass(stepMs);
    }
  }

  /** How many events there have been. */
  get published(): number {
    return this.#published.size;
  }

  /** How many of them were delivered, of those that were published since. */
  delivered(sinceMs = 0, of = ''): number {
    return this.#of(sinceMs, of).filter(([id]) => this.#deliveredMs.has(id)).length;
  }

  /** Of destinations whose name begins so; what is not delivered yet counts with its age. */
  p99Ms(of: string, sinceMs = 0): number {
    const tookMs = this.#tookMs(of, sinceMs);
    return tookMs[Math.floor(tookMs.length * 0.99)] ?? NaN;
  }

  /** As `p99Ms`, of the slowest. */
  mostMs(of: string): number {
    return this.#tookMs(of).at(-1) ?? NaN;
  }

  /** Events that were delivered before an older one of the same user at the same destination, whose name begins so. */
  inversions(of = ''): number {
    const latestMs = new Map<string, number>();
    let inversions = 0;
    for (const [id, { destination, user }] of this.#of(0, of)) {
      const key = `${destination}:${user}`;
      const deliveredMs = this.#deliveredMs.get(id) ?? Infinity;
      if (deliveredMs < (latestMs.get(key) ?? 0)) inversions += 1;
      latestMs.set(key, Math.max(deliveredMs, latestMs.get(key) ?? 0));
    }
    return inversions;
  }

  /** Events that were put off without an attempt, by destinations whose name begins so. */
  deferrals(of = ''): number {
    const { retries } = this.world;
    return retries.filter(
      ({ envelope }) => envelope.attempts === 0 && envelope.destinationId.startsWith(of),
    ).length;
  }

  #tookMs(of: string, sinceMs = 0): number[] {
    const nowMs = this.world.clock.now();
    return this.#of(sinceMs, of)
      .map(([id, { atMs }]) => (this.#deliveredMs.get(id) ?? nowMs) - atMs)
      .toSorted((a, b) => a - b);
  }

  #of(sinceMs: number, of: string): [string, Published][] {
    return [...this.#published].filter(
      ([, { atMs, destination }]) => atMs >= sinceMs && destination.startsWith(of),
    );
  }
}
