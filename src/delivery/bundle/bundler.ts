import { ageFromMs, encodeEnvelope } from '../../event/envelope.ts';
import type { Clock, Timer } from '../../ops/clock.ts';
import type { Claim, Job, TakenRecord } from '../job.ts';
import type { Later } from '../retry-policy.ts';
import type { BundleHeader } from './format.ts';
import { EventPacker } from './format.ts';

/** Events of one partition and one destination that are put off together. */
export interface Gathered {
  readonly claim: Claim;
  readonly tierMs: number;
  /** Of the first; the others are of the same partition. */
  readonly key: Buffer | null;
  readonly header: BundleHeader;
  /** Only until `onGathered` returns. */
  readonly packed: Buffer;
  /** Those that they came in, with nothing in them any more. */
  readonly records: readonly TakenRecord[];
}

export interface BundlerOptions {
  readonly clock: Clock;
  /** To be written now. */
  readonly onGathered: (gathered: Gathered) => void;
}

/** How long the first event of a bundle waits for others. */
const waitMs = 200;
/** A partition's window holds several bundles, and what waits in one is a small part of a window. */
const mostEvents = 256;
const mostBytes = 64 * 1024;
/** Kept for the next bundles: memory that is new each time would have to be collected, too. */
const mostIdlePackers = 32;

/**
 * Gathers what is put off. A destination that is away has all of its events go through retry topics
 * again and again; one by one, that would cost more than delivering those of all others.
 */
export class Bundler {
  readonly #options: BundlerOptions;
  readonly #open = new Map<Claim, Map<string, Gathering>>();
  readonly #idlePackers: EventPacker[] = [];
  #timer: Timer | undefined;
  /** Added and not handed over yet. */
  events = 0;

  constructor(options: BundlerOptions) {
    this.#options = options;
  }

  /** Copies the event: its record holds nothing of it any more. */
  add(job: Job, plan: Later): void {
    const gathering = this.#gatheringFor(job, plan);
    gathering.add(job, plan);
    job.record.release();
    this.events += 1;
    if (gathering.isFull) this.#handOver(gathering);
    this.#timer ??= this.#options.clock.after(waitMs, () => {
      this.#timer = undefined;
      for (const destinations of this.#open.values())
        for (const each of destinations.values()) this.#handOver(each);
      this.#open.clear();
    });
  }

  close(): void {
    this.#timer?.cancel();
  }

  #gatheringFor(job: Job, plan: Later): Gathering {
    const { claim } = job;
    const { destinationId } = job.envelope;
    let destinations = this.#open.get(claim);
    if (destinations === undefined) {
      destinations = new Map();
      this.#open.set(claim, destinations);
    }
    const found = destinations.get(destinationId);
    if (found?.suits(plan) === true) return found;
    if (found !== undefined) this.#handOver(found);
    const packer = this.#idlePackers.pop() ?? new EventPacker();
    const gathering = new Gathering(job, plan, packer);
    destinations.set(destinationId, gathering);
    return gathering;
  }

  #handOver(gathering: Gathering): void {
    this.#open.get(gathering.claim)?.delete(gathering.destinationId);
    this.events -= gathering.records.length;
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
  readonly records: TakenRecord[] = [];
  readonly packer: EventPacker;
  readonly #dueMs: number;
  #deadlineMs: number | undefined;
  #oldestMs = Infinity;

  /** For events like this one, which is not added yet. */
  constructor({ claim, envelope, record }: Job, plan: Later, packer: EventPacker) {
    this.claim = claim;
    this.destinationId = envelope.destinationId;
    this.key = record.key === null ? null : Buffer.from(record.key);
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
    return this.records.length >= mostEvents || this.packer.bytes >= mostBytes;
  }

  get packed(): Buffer {
    return this.packer.packed;
  }

  get header(): BundleHeader {
    return {
      destinationId: this.destinationId,
      events: this.records.length,
      dueMs: this.#dueMs,
      deadlineMs: this.#deadlineMs,
      oldestMs: this.#oldestMs,
    };
  }

  add({ record, envelope, body }: Job, { deadlineMs, dueMs }: Later): void {
    this.packer.add(record.key, encodeEnvelope({ ...envelope, deadlineMs, dueMs }), body);
    this.records.push(record);
    if (deadlineMs !== undefined && this.#deadlineMs !== undefined)
      this.#deadlineMs = Math.min(this.#deadlineMs, deadlineMs);
    this.#oldestMs = Math.min(this.#oldestMs, ageFromMs(envelope));
  }
}
