import type { LastHour } from '../api/answers/destinations.ts';
import { delivered, latencyAt, latencyClasses, noLatency, refused } from './attempt-rows.ts';
import { bucketMs } from './schema.ts';

const points = 12;

interface Slot {
  readonly bucket: number;
  delivered: number;
  failed: number;
  readonly latencies: Uint32Array;
}

/** Attempts of the last hour by destination, in five minutes each: what the list of all destinations shows. */
export class LastHours {
  /** By the word of the destination. */
  readonly #slots = new Map<number, (Slot | undefined)[]>();

  /** @param latencyClass 255: without */
  add(destination: number, bucket: number, what: number, latencyClass: number, count = 1): void {
    if (what > refused) return;
    let slots = this.#slots.get(destination);
    if (slots === undefined) this.#slots.set(destination, (slots = []));
    const place = bucket % points;
    let slot = slots[place];
    if (slot === undefined || slot.bucket < bucket) {
      const latencies = new Uint32Array(latencyClasses);
      slots[place] = slot = { bucket, delivered: 0, failed: 0, latencies };
    }
    // Older than an hour.
    if (slot.bucket > bucket) return;
    if (what === delivered) slot.delivered += count;
    else slot.failed += count;
    if (latencyClass !== noLatency)
      slot.latencies[latencyClass] = (slot.latencies[latencyClass] ?? 0) + count;
  }

  of(destination: number | undefined, nowMs: number): LastHour {
    const slots = destination === undefined ? undefined : this.#slots.get(destination);
    const last = Math.floor(nowMs / bucketMs);
    let all = 0;
    let well = 0;
    const shown = Array.from({ length: points }, (_, index): LastHour['points'][number] => {
      const bucket = last - points + 1 + index;
      const slot = slots?.[bucket % points];
      if (slot?.bucket !== bucket) return [0, 0, null];
      all += slot.delivered + slot.failed;
      well += slot.delivered;
      return [slot.delivered, slot.failed, latencyAt(slot.latencies, 0.99)];
    });
    return { ...(all === 0 ? {} : { successRate: well / all }), points: shown };
  }

  /** Deliveries of the last hour. */
  deliveredOf(destination: number | undefined, nowMs: number): number {
    const slots = destination === undefined ? [] : (this.#slots.get(destination) ?? []);
    const after = Math.floor(nowMs / bucketMs) - points;
    return slots.reduce(
      (sum, slot) => (slot !== undefined && slot.bucket > after ? sum + slot.delivered : sum),
      0,
    );
  }

  /** Forgets the destinations that are not among these. */
  keep(destinations: ReadonlySet<number>): void {
    for (const destination of this.#slots.keys())
      if (!destinations.has(destination)) this.#slots.delete(destination);
  }

  clear(): void {
    this.#slots.clear();
  }
}
