import { ageFromMs, encodeEnvelope, envelopeHeader } from '../../event/envelope.ts';
import type { Envelope } from '../../event/envelope.ts';
import type { Clock, Timer } from '../../ops/clock.ts';
import type { Claim, Job } from '../job.ts';
import type { Later } from '../retry-policy.ts';
import type { BundleHeader } from './format.ts';
import { EventPacker } from './format.ts';
import { Receipts } from './receipts.ts';

/** Events of one partition and one destination that are put off together. */
export interface Gathered {
  readonly claim: Claim;
  readonly tierMs: number;
  /** Of the first; the others are of the same partition. */
  readonly key: Buffer | null;
  readonly header: BundleHeader;
  /** Only until `onGathered` returns. */
  readonly packed: Buffer;
  /** Of the records that they came in. */
  readonly receipts: Receipts;
}

export interface BundlerOptions {
  readonly clock: Clock;
  /** To be written now. */
  readonly onGathered: (gathered: Gathered) => void;
}

/** How long the first event of a bundle waits for others. */
const waitMs = 200;
/** The partitions are served in turn: a little often holds nobody up, all of them at once do. */
const turns = 8;
/** A partition's window holds several bundles, and what waits in one is a small part of a window. */
const mostEvents = 256;
const mostBytes = 64 * 1024;
/** An event's window may end so much earlier for being in a bundle, which takes no longer to gather. */
const impliedWithinMs = 1_000;
/** Kept for the next bundles: memory that is new each time would have to be collected, too. */
const mostIdlePackers = 32;

/**
 * Gathers what is put off. A destination that is away has all of its events go through retry topics
 * again and again; one by one, that would cost more than delivering those of all others.
 */
export class Bundler {
  readonly #options: BundlerOptions;
  /** By destination. One that was handed over leaves its place to the next, see `JobsByUser` for why. */
  readonly #open = new Map<Claim, Map<string, Gathering | undefined>>();
  readonly #idlePackers: EventPacker[] = [];
  #timer: Timer | undefined;
  #turn = 0;
  /** Added and not handed over yet. */
  events = 0;

  constructor(options: BundlerOptions) {
    this.#options = options;
  }

  /** Copies the event. */
  add(job: Job, plan: Later): void {
    const destinations = this.#destinationsOf(job.claim);
    let gathering = destinations.get(job.envelope.destinationId);
    if (gathering?.suits(plan) === false) {
      this.#handOver(gathering, destinations);
      gathering = undefined;
    }
    gathering ??= this.#openFor(job, plan, destinations);
    gathering.add(job, plan);
    this.events += 1;
    if (gathering.isFull) this.#handOver(gathering, destinations);
    this.#awaitTurn();
  }

  close(): void {
    this.#timer?.cancel();
  }

  #destinationsOf(claim: Claim): Map<string, Gathering | undefined> {
    let destinations = this.#open.get(claim);
    if (destinations === undefined) {
      destinations = new Map();
      this.#open.set(claim, destinations);
    }
    return destinations;
  }

  #openFor(job: Job, plan: Later, destinations: Map<string, Gathering | undefined>): Gathering {
    const packer = this.#idlePackers.pop() ?? new EventPacker();
    const gathering = new Gathering(job, plan, packer);
    destinations.set(gathering.destinationId, gathering);
    return gathering;
  }

  #awaitTurn(): void {
    this.#timer ??= this.#options.clock.after(waitMs / turns, this.#takeTurn);
  }

  readonly #takeTurn = (): void => {
    this.#timer = undefined;
    this.#turn = (this.#turn + 1) % turns;
    for (const [claim, destinations] of this.#open) {
      if (claim.partition % turns !== this.#turn) continue;
      for (const [id, gathering] of destinations) {
        // Nothing has come in a whole round.
        if (gathering === undefined) destinations.delete(id);
        else this.#handOver(gathering, destinations);
      }
      if (destinations.size === 0) this.#open.delete(claim);
    }
    if (this.#open.size > 0) this.#awaitTurn();
  };

  #handOver(gathering: Gathering, destinations: Map<string, Gathering | undefined>): void {
    destinations.set(gathering.destinationId, undefined);
    this.events -= gathering.receipts.count;
    this.#options.onGathered(gathering);
    const { packer } = gathering;
    packer.reset();
    if (this.#idlePackers.length < mostIdlePackers) this.#idlePackers.push(packer);
  }
}

class Gathering implements Gathered {
  readonly claim: Claim;
  readonly destinationId: string;
  readonly key: Buffer | null;
  readonly tierMs: number;
  readonly receipts = new Receipts();
  readonly packer: EventPacker;
  readonly #dueMs: number;
  #deadlineMs: number | undefined;
  #impliedDeadlineMs: number | undefined;
  #oldestMs = Infinity;

  /** For events like this one, which is not added yet. */
  constructor({ claim, envelope, record }: Job, plan: Later, packer: EventPacker) {
    this.claim = claim;
    this.destinationId = envelope.destinationId;
    // In the pool that small buffers share, it would hold on to all of the pool.
    this.key = record.key === null ? null : Buffer.alloc(record.key.length, record.key);
    this.packer = packer;
    this.tierMs = plan.tierMs;
    this.#dueMs = plan.dueMs;
    this.#deadlineMs = plan.deadlineMs;
  }

  /** Events whose retry clock runs are not mixed with others. */
  suits({ tierMs, deadlineMs }: Later): boolean {
    return (
      tierMs === this.tierMs && (deadlineMs === undefined) === (this.#deadlineMs === undefined)
    );
  }

  get isFull(): boolean {
    return this.receipts.count >= mostEvents || this.packer.bytes >= mostBytes;
  }

  get packed(): Buffer {
    return this.packer.packed;
  }

  get header(): BundleHeader {
    return {
      destinationId: this.destinationId,
      events: this.receipts.count,
      dueMs: this.#dueMs,
      deadlineMs: this.#deadlineMs,
      impliedDeadlineMs: this.#impliedDeadlineMs,
      oldestMs: this.#oldestMs,
    };
  }

  add({ record, envelope, body }: Job, { deadlineMs }: Later): void {
    // As it came, where that says it all: nothing is put together, and nothing to be collected.
    const unchanged = this.#isSaid(envelope, deadlineMs)
      ? record.headers[envelopeHeader]
      : undefined;
    this.packer.add(record.key, unchanged ?? encodeEnvelope({ ...envelope, deadlineMs }), body);
    this.receipts.add(record);
    if (deadlineMs !== undefined && this.#deadlineMs !== undefined)
      this.#deadlineMs = Math.min(this.#deadlineMs, deadlineMs);
    this.#oldestMs = Math.min(this.#oldestMs, ageFromMs(envelope));
  }

  /** Whether the envelope and the bundle's header together say when its window ends. */
  #isSaid(envelope: Envelope, deadlineMs: number | undefined): boolean {
    if (envelope.deadlineMs === deadlineMs) return true;
    if (envelope.deadlineMs !== undefined || deadlineMs === undefined) return false;
    this.#impliedDeadlineMs ??= deadlineMs;
    const laterByMs = deadlineMs - this.#impliedDeadlineMs;
    return laterByMs >= 0 && laterByMs < impliedWithinMs;
  }
}
