import type { Finisher } from '../../kafka/consume/consumed-record.ts';
import type { Claim, TakenRecord } from '../job.ts';
import { recordAt } from '../packing.ts';
import type { PackedRecord } from '../packing.ts';

/**
 * Remembers the places of a partition's records that were copied, to finish them later. Keeping the records
 * themselves would be the largest part of what survives young collections.
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

  /** Makes records with the places of the original ones from `events`, their packed copies. */
  recordsOf({ topic, partition }: Claim, events: readonly PackedRecord[]): TakenRecord[] {
    return events.flatMap((event, index) => {
      const owner = this.#owners[index];
      if (owner === undefined) return [];
      const place = { topic, partition, offset: this.#offsets[index] ?? NaN, timestampMs: NaN };
      return recordAt(place, event, owner, this.#slots[index] ?? NaN);
    });
  }
}
