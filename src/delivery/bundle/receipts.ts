import type { Claim, RecordOwner, TakenRecord } from '../job.ts';
import { BundledRecord } from './bundle.ts';
import type { BundledEvent } from './format.ts';

/**
 * What is left of a partition's records that were copied: where each is to be finished. The records
 * themselves would be the largest part of what outlives young collections.
 */
export class Receipts {
  readonly #owners: RecordOwner[] = [];
  readonly #slots: number[] = [];
  readonly #offsets: number[] = [];

  get count(): number {
    return this.#slots.length;
  }

  add({ owner, slot, offset }: TakenRecord): void {
    this.#owners.push(owner);
    this.#slots.push(slot);
    this.#offsets.push(offset);
  }

  finish(): void {
    this.#slots.forEach((slot, index) => this.#owners[index]?.finish(slot));
  }

  /** Records again, in the places of those that came; `events` are what was copied of them. */
  recordsOf({ topic, partition }: Claim, events: readonly BundledEvent[]): BundledRecord[] {
    return events.flatMap((event, index) => {
      const owner = this.#owners[index];
      if (owner === undefined) return [];
      const place = { topic, partition, offset: this.#offsets[index] ?? NaN, timestampMs: NaN };
      return new BundledRecord(event, place, owner, this.#slots[index] ?? NaN);
    });
  }
}
