import type { Clock, Timer } from '../../ops/clock.ts';
import type { Claim, Job } from '../job.ts';
import { EventPacker } from '../packing.ts';
import type { Later } from '../retry-policy.ts';
import { Gathering, isAlike, isLarge, Lone } from './gathering.ts';
import type { Gathered } from './gathering.ts';

export interface BundlerOptions {
  readonly clock: Clock;
  /** To be written now. */
  readonly onGathered: (gathered: Gathered) => void;
  /** An event that found no company; it is not copied. */
  readonly onAlone: (job: Job, plan: Later) => void;
}

/** How long the first event of a bundle waits for others. */
const waitMs = 200;
/** The partitions are served in turn: a little often holds nobody up, all of them at once do. */
const turns = 8;
/** Kept for the next bundles: memory that is new each time would have to be collected, too. */
const mostIdlePackers = 32;

/**
 * Gathers what is put off. A destination that is away has all of its events go through retry topics
 * again and again; one by one, that would cost more than delivering those of all others.
 */
export class Bundler {
  readonly #options: BundlerOptions;
  /** By destination. One that was handed over leaves its place to the next, see `JobsByUser` for why. */
  readonly #open = new Map<Claim, Map<string, Open | undefined>>();
  readonly #idlePackers: EventPacker[] = [];
  #timer: Timer | undefined;
  #turn = 0;
  /** Added and not handed over yet. */
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
      gathering = new Gathering(gathering, this.#idlePackers.pop() ?? new EventPacker());
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
        // Nothing has come in a whole round.
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
