import type { Past } from '../../event/destination-health.ts';
import { deadLetter, delivered, refused } from './attempt-rows.ts';
import type { IndexDatabase } from './database.ts';

type Known = Omit<Past, 'deliveredLately'>;

const nothing: Known = {
  deliveredMs: undefined,
  badInRow: 0,
  badSinceMs: undefined,
  badMs: undefined,
  isRefused: false,
  deliveredSinceLoss: 0,
};

interface PastRow {
  readonly destination: number;
  readonly deliveredMs: number | null;
  readonly badInRow: number;
  readonly badSinceMs: number | null;
  readonly badMs: number | null;
  readonly isRefused: boolean | null;
  readonly deliveredSinceLoss: number;
}

/** What became last of each destination's events: the evidence for one that no worker speaks of. */
export class Pasts {
  /** By the word of the destination. */
  readonly #pasts = new Map<number, Known>();

  static async read(database: IndexDatabase): Promise<Pasts> {
    const rows = await database.rows<PastRow>(`
      with last as (
        select destination, max(at_ms) filter (where what = ${delivered}) as good,
          max(at_ms) filter (where what in (${refused}, ${deadLetter})) as loss
        from attempts where what <= ${deadLetter} group by destination)
      select destination, good::double as "deliveredMs",
        count(*) filter (where what in (1, 2) and at_ms > coalesce(good, 0))::integer as "badInRow",
        min(at_ms) filter (where what in (1, 2) and at_ms > coalesce(good, 0))::double as "badSinceMs",
        max(at_ms) filter (where what in (1, 2) and at_ms > coalesce(good, 0))::double as "badMs",
        arg_max(what = ${refused}, at_ms) filter (where what <= ${refused}) as "isRefused",
        count(*) filter (where what = ${delivered} and at_ms > coalesce(loss, 0))::integer as "deliveredSinceLoss"
      from attempts join last using (destination) where what <= ${refused} group by destination, good`);
    const pasts = new Pasts();
    for (const { destination, deliveredMs, badSinceMs, badMs, isRefused, ...counts } of rows)
      pasts.#pasts.set(destination, {
        deliveredMs: deliveredMs ?? undefined,
        badSinceMs: badSinceMs ?? undefined,
        badMs: badMs ?? undefined,
        isRefused: isRefused ?? false,
        ...counts,
      });
    return pasts;
  }

  add(destination: number, what: number, atMs: number): void {
    if (what > refused && what !== deadLetter) return;
    const known = this.#pasts.get(destination) ?? nothing;
    this.#pasts.set(destination, after(known, what, atMs));
  }

  /** @param deliveredLately of the last hour */
  of(destination: number | undefined, deliveredLately: number): Past {
    const known = destination === undefined ? undefined : this.#pasts.get(destination);
    return { ...(known ?? nothing), deliveredLately };
  }

  /** Forgets the destinations that are not among these. */
  keep(destinations: ReadonlySet<number>): void {
    for (const destination of this.#pasts.keys())
      if (!destinations.has(destination)) this.#pasts.delete(destination);
  }

  clear(): void {
    this.#pasts.clear();
  }
}

function after(known: Known, what: number, atMs: number): Known {
  if (what === deadLetter) return { ...known, deliveredSinceLoss: 0 };
  if (what === delivered)
    return {
      deliveredMs: Math.max(atMs, known.deliveredMs ?? 0),
      badInRow: 0,
      badSinceMs: undefined,
      badMs: undefined,
      isRefused: false,
      deliveredSinceLoss: known.deliveredSinceLoss + 1,
    };
  // Lines of other partitions may come late.
  if (atMs < (known.deliveredMs ?? 0)) return known;
  const isRefused = what === refused;
  return {
    deliveredMs: known.deliveredMs,
    badInRow: known.badInRow + 1,
    badSinceMs: Math.min(atMs, known.badSinceMs ?? atMs),
    badMs: Math.max(atMs, known.badMs ?? 0),
    isRefused,
    deliveredSinceLoss: isRefused ? 0 : known.deliveredSinceLoss,
  };
}
