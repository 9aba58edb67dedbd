import { newClaim, type Claim } from '../../src/delivery/job.ts';
import { freshWindow, mostAside, retryWindow } from '../../src/delivery/reader.ts';
import { OffsetTracker } from '../../src/kafka/consume/offset-tracker.ts';
import { fullness, mustPause, type WindowLimits } from '../../src/kafka/consume/window.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import type { SimulatedClock } from './simulated-clock.ts';

/** From the moment at which a window has room again to the records that a fetch brings. */
const fetchMs = 5;

/** A partition as a worker reads it: in its order, and only while its window has room. */
export class SimulatedPartition {
  readonly claim: Claim;
  /** Written, and not read yet. */
  readonly unread: OutgoingRecord[] = [];
  readonly #tracker = new OffsetTracker(0);
  readonly #clock: SimulatedClock;
  readonly #take: (record: OutgoingRecord, offset: number) => void;
  readonly #mustPause: () => boolean;
  #nextOffset = 0;
  #isFull = false;
  #isFetching = false;

  /** @param take what is read goes there, with its offset */
  constructor(
    { topic, partition, isRetry }: { topic: string; partition: number; isRetry: boolean },
    { dedicated, clock }: { dedicated: boolean; clock: SimulatedClock },
    take: (record: OutgoingRecord, offset: number) => void,
  ) {
    const limits = isRetry ? retryWindow : freshWindow;
    this.#clock = clock;
    this.#take = take;
    this.claim = newClaim(
      { topic, partition },
      dedicated,
      new SimulatedWindow(this.#tracker, limits),
      () => 1,
      () => mostAside - this.#tracker.aside,
    );
    this.#mustPause = () => mustPause(this.#isFull, this.#tracker, limits, 1);
  }

  append(record: OutgoingRecord): void {
    this.unread.push(record);
    if (!this.#isFetching) this.#read();
  }

  /** A record that comes past the log. Returns its offset. */
  place(record: OutgoingRecord): number {
    this.#tracker.add(this.#nextOffset, (record.key?.length ?? 0) + (record.value?.length ?? 0), 0);
    return this.#nextOffset++;
  }

  /** Slots are numbered as offsets are. */
  finish(offset: number): void {
    this.#tracker.finish(offset);
    if (this.unread.length > 0) this.#fetch();
  }

  release(offset: number): void {
    this.#tracker.release(offset);
  }

  setAside(offset: number): void {
    this.#tracker.setAside(offset);
    if (this.unread.length > 0) this.#fetch();
  }

  /** The offset of the next record that is written. */
  get end(): number {
    return this.#nextOffset + this.unread.length;
  }

  #fetch(): void {
    if (this.#isFetching) return;
    this.#isFetching = true;
    this.#clock.after(fetchMs, () => {
      this.#isFetching = false;
      this.#read();
    });
  }

  #read(): void {
    let read = 0;
    while (read < this.unread.length && !this.claim.revoked) {
      this.#isFull = this.#mustPause();
      if (this.#isFull) break;
      const record = this.unread[read++];
      if (record !== undefined) this.#take(record, this.place(record));
    }
    this.unread.splice(0, read);
  }
}

class SimulatedWindow {
  readonly #tracker: OffsetTracker;
  readonly #limits: WindowLimits;

  constructor(tracker: OffsetTracker, limits: WindowLimits) {
    this.#tracker = tracker;
    this.#limits = limits;
  }

  get fullness(): number {
    return fullness(this.#tracker, this.#limits, 1);
  }

  get inFlight(): number {
    return this.#tracker.inFlight;
  }

  get aside(): number {
    return this.#tracker.aside;
  }
}
