import type { Clock, Timer } from '../../ops/clock.ts';
import type { Claim, Job } from '../job.ts';
import { EventPacker } from '../packing.ts';
import type { Later } from '../retry-policy.ts';
import { Gathering, isAlike, isLarge, Lone } from './gathering.ts';

export interface BundlerOptions {
  readonly clock: Clock;
  /** Gets each bundle that has to be written now. Its bytes are valid until this returns. */
  readonly onGathered: (gathered: Gathering) => void;
  /** Gets each event that found no company; it is not copied. */
  readonly onAlone: (job: Job, plan: Later) => void;
}

/** The first event of a bundle waits for others for so long. */
const waitMs = 200;
/** Partitions are handled in turns: all of them at once would delay other work. */
const turns = 8;
/**
 * Packers that are kept for the next bundles, because new memory for each bundle would have to be collected.
 */
const mostIdlePackers = 32;

/**
 * Gathers events that are put off. All events of a destination that is away go through retry topics, again
 * and again. One by one, that would cost more than delivering the events of all other destinations.
 */
export class Bundler {
  readonly #options: BundlerOptions;
  /**
   * The gatherings by destination. One that was passed on leaves its place to the next one; `JobsByUser` explains
   * why.
   */
  readonly #open = new Map<Claim, Map<string, Open | undefined>>();
  readonly #idlePackers: EventPacker[] = [];
  #timer: Timer | undefined;
  #turn = 0;
  /** Events that were added and not passed on yet. */
  events = 0;

  constructor(options: BundlerOptions) {
    this.#options = options;
  }

  add(job: Job, plan: Later): void {
    if (isLarge(job)) {
      this.#options.onAlone(job, plan);
      return;
    }
    const destinations = this.#destinationsOf(job.claim);
    const { destinationId } = job.envelope;
    let open = destinations.get(destinationId);
    if (open !== undefined && !isAlike(open.plan, plan)) {
      this.#handOver(open, destinations);
      open = undefined;
    }
    this.events += 1;
    if (open === undefined) destinations.set(destinationId, new Lone(job, plan));
    else this.#gather(open, job, plan, destinations);
    this.#awaitTurn();
  }

  close(): void {
    this.#timer?.cancel();
  }

  #destinationsOf(claim: Claim): OpenByDestination {
    let destinations = this.#open.get(claim);
    if (destinations === undefined) {
      destinations = new Map();
      this.#open.set(claim, destinations);
    }
    return destinations;
  }

  #gather(open: Open, job: Job, plan: Later, destinations: OpenByDestination): void {
    let gathering = open;
    if (gathering instanceof Lone) {
      const packer = this.#idlePackers.pop() ?? new EventPacker();
      gathering = new Gathering(gathering, packer);
      destinations.set(gathering.destinationId, gathering);
    }
    gathering.add(job, plan);
    if (gathering.isFull) this.#handOver(gathering, destinations);
  }

  #awaitTurn(): void {
    this.#timer ??= this.#options.clock.after(waitMs / turns, this.#takeTurn);
  }

  readonly #takeTurn = (): void => {
    this.#timer = undefined;
    this.#turn = (this.#turn + 1) % turns;
    for (const [claim, destinations] of this.#open) {
      if (claim.partition % turns !== this.#turn) continue;
      for (const [id, open] of destinations) {
        // No event has come in a whole round.
        if (open === undefined) destinations.delete(id);
        else this.#handOver(open, destinations);
      }
      if (destinations.size === 0) this.#open.delete(claim);
    }
    if (this.#open.size > 0) this.#awaitTurn();
  };

  #handOver(open: Open, destinations: OpenByDestination): void {
    destinations.set(open.destinationId, undefined);
    if (open instanceof Lone) {
      this.events -= 1;
      this.#options.onAlone(open.job, open.plan);
      return;
    }
    this.events -= open.receipts.count;
    this.#options.onGathered(open);
    const { packer } = open;
    packer.reset();
    if (this.#idlePackers.length < mostIdlePackers) this.#idlePackers.push(packer);
  }
}

type Open = Lone | Gathering;
type OpenByDestination = Map<string, Open | undefined>;
