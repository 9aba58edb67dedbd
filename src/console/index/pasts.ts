import type { Past } from '../../event/destination-health.ts';
import { deadLetter, delivered, refused } from './attempt-rows.ts';
import type { IndexDatabase } from './database.ts';
import { bucketMs } from './schema.ts';

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
}

const hourMs = 3_600_000;
/** Each destination's last delivery and last other attempt; of most, to five minutes. */
const lastAttempts = `
  select destination, max(at_ms) filter (where what = ${delivered}) as good,
    max(at_ms) filter (where what <> ${delivered}) as bad
  from (
    select destination, what, bucket::bigint * ${bucketMs} as at_ms from buckets where what <= ${refused}
    union all
    select destination, what, at_ms from attempts
    where what <= ${refused} and seq > (select value from facts where name = 'counted')
  ) group by destination`;
/** Looks exactly at destinations whose last attempt may have been no delivery. Looking through all attempts of all takes seconds. */
const doubtful = `
  with suspects as (
    select destination from (${lastAttempts}) where bad + ${bucketMs} > coalesce(good, 0)
  ), theirs as (
    select destination, what, at_ms from attempts join suspects using (destination) where what <= ${refused}
  ), last as (
    select destination, max(at_ms) filter (where what = ${delivered}) as good from theirs group by destination
  )
  select destination, good::double as "deliveredMs", count(*)::integer as "badInRow",
    min(at_ms)::double as "badSinceMs", max(at_ms)::double as "badMs",
    arg_max(what = ${refused}, at_ms) as "isRefused"
  from theirs join last using (destination)
  where what <> ${delivered} and at_ms > coalesce(good, 0) group by destination, good`;

/** The last fates of each destination's events: the evidence for one that no worker reports on. */
export class Pasts {
  /** By the word of the destination. */
  readonly #pasts = new Map<number, Known>();

  static async read(database: IndexDatabase, nowMs: number): Promise<Pasts> {
    const pasts = new Pasts();
    const good = await database.rows<{ destination: number; deliveredMs: number }>(
      `select destination, good::double as "deliveredMs" from (${lastAttempts}) where good is not null`,
    );
    for (const { destination, deliveredMs } of good)
      pasts.#pasts.set(destination, { ...nothing, deliveredMs });
    for (const row of await database.rows<PastRow>(doubtful)) {
      const { destination, deliveredMs, badInRow, badSinceMs, badMs, isRefused } = row;
      pasts.#pasts.set(destination, {
        deliveredMs: deliveredMs ?? undefined,
        badInRow,
        badSinceMs: badSinceMs ?? undefined,
        badMs: badMs ?? undefined,
        isRefused: isRefused ?? false,
        deliveredSinceLoss: 0,
      });
    }
    // Older losses are in no state.
    const since = await database.rows<{ destination: number; count: number }>(`
      with recent as (select destination, what, at_ms from attempts
        where at_ms > ${nowMs - hourMs} and what in (${delivered}, ${refused}, ${deadLetter})),
      loss as (select destination, max(at_ms) filter (where what <> ${delivered}) as lost_ms from recent group by destination)
      select destination, count(*)::integer as count from recent join loss using (destination)
      where what = ${delivered} and at_ms > coalesce(lost_ms, 0) group by destination`);
    for (const { destination, count } of since)
      pasts.#pasts.set(destination, {
        ...(pasts.#pasts.get(destination) ?? nothing),
        deliveredSinceLoss: count,
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
