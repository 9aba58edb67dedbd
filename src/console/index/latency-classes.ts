/**
 * Classes of durations of attempts. Counts of classes can be added up over time and URLs, which
 * percentiles cannot. Each class is 1.3 to 2 times as wide as the one below.
 */
const boundsMs = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000,
  5_000, 7_000,
];

export const latencyClasses: number = boundsMs.length + 1;

/** From 0 on; the last one has no upper bound. */
export function latencyClassOf(tookMs: number): number {
  let low = 0;
  let high = boundsMs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tookMs <= (boundsMs[middle] ?? Infinity)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Below which so many of them were, assuming that those of a class are spread evenly.
 * @param counts by class
 * @param share from 0 to 1
 * @returns null without any
 */
export function latencyAt(counts: ArrayLike<number>, share: number): number | null {
  let total = 0;
  for (let each = 0; each < counts.length; each += 1) total += counts[each] ?? 0;
  if (total === 0) return null;
  const wanted = share * total;
  let below = 0;
  for (let each = 0; each < counts.length; each += 1) {
    const count = counts[each] ?? 0;
    if (count > 0 && below + count >= wanted) {
      const from = boundsMs[each - 1] ?? 0;
      const to = boundsMs[each] ?? from;
      return Math.round(from + ((to - from) * (wanted - below)) / count);
    }
    below += count;
  }
  return boundsMs.at(-1) ?? null;
}
