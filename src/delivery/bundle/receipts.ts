import type { Finisher } from '../../kafka/consume/consumed-record.ts';
import type { Claim, TakenRecord } from '../job.ts';
import { recordAt } from '../packing.ts';
import type { PackedRecord } from '../packing.ts';

/**
 * What is left of a partition's records that were copied: where each is to be finished. The records
 * themselves would be the largest part of what outlives young collections.
 */
export class Receipts {
  readonly #owners: Finisher[] = [];
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
  recordsOf({ topic, partition }: Claim, events: readonly PackedRecord[]): TakenRecord[] {
    return events.flatMap((event, index) => {
      const owner = this.#owners[index];
      if (owner === undefined) return [];
      const place = { topic, partition, offset: this.#offsets[index] ?? NaN, timestampMs: NaN };
      return recordAt(place, event, owner, this.#slots[index] ?? NaN);
    });
  }
}
