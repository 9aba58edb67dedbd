import type { Range } from '../api/choices.ts';
import type { OpenIndex } from './index.ts';
import { bucketMs } from './schema.ts';

/** Attempts of one URL that came to the same, in a step of time. */
export interface Counted {
  /** From the beginning of the epoch. */
  readonly step: number;
  readonly url: string;
  readonly what: number;
  readonly latencyClass: number;
  readonly count: number;
}

interface Resolution {
  readonly stepMs: number;
  readonly steps: number;
}

export const resolutions: Readonly<Record<Range, Resolution>> = {
  '1h': { stepMs: 60_000, steps: 60 },
  '24h': { stepMs: 900_000, steps: 96 },
  '3d': { stepMs: 3_600_000, steps: 72 },
};

/** The first step of the range that ends now. */
export function firstStep(range: Range, nowMs: number): number {
  const { stepMs, steps } = resolutions[range];
  return Math.floor(nowMs / stepMs) - steps + 1;
}

/** @param destination its `identityText` */
export async function countedOf(
  { database, words, countedSeq }: OpenIndex,
  destination: string,
  range: Range,
  nowMs: number,
): Promise<readonly Counted[]> {
  const id = words.find(destination);
  if (id === undefined) return [];
  const { stepMs } = resolutions[range];
  const fromMs = firstStep(range, nowMs) * stepMs;
  const isAttempt = 'destination = $id and what <= 2';
  // An hour is little enough to be looked through, and a bucket is too long for it.
  const sql =
    range === '1h'
      ? `select (at_ms // ${stepMs})::integer as step, url, what, latency, count(*)::integer as count
         from attempts where ${isAttempt} and at_ms >= ${fromMs} group by all`
      : `select step, url, what, latency, sum(count)::integer as count from (
           select (bucket // ${stepMs / bucketMs})::integer as step, url, what, latency, count
           from buckets where ${isAttempt} and bucket >= ${fromMs / bucketMs}
           union all
           select (at_ms // ${stepMs})::integer, url, what, latency, 1
           from attempts where ${isAttempt} and seq > ${countedSeq} and at_ms >= ${fromMs}
         ) group by all`;
  const rows = await database.rows<{
    step: number;
    url: number | null;
    what: number;
    latency: number;
    count: number;
  }>(sql, { id });
  return rows.map(({ step, url, what, latency, count }) => ({
    step,
    url: url === null ? '' : words.of(url),
    what,
    latencyClass: latency,
    count,
  }));
}
