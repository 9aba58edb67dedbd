/** The lengths that an answer has shown of a partition's batches. Both include the first fields. */
export interface SeenBatches {
  /** Length of the largest whole batch; 0: there was none. */
  readonly largestBytes: number;
  /** Length of the batch that was cut off and comes next; undefined: not known. */
  readonly cutBytes: number | undefined;
}

/** A batch's offset and length, its first fields. */
const frontBytes = 12;
/** Batches of the same size before compression differ by a few per cent after it. */
const allowance = 1 + 1 / 16;

/**
 * The number of bytes to fetch. A broker cuts its answer at the requested size, and a batch that is cut has to be
 * fetched again. So this is a whole number of batches: the next one, whose length is known, as many more as
 * fit if they are like the largest, and the front of the one behind, which has its length. If the log has
 * changed and the next batch is larger now, it comes when its partition is the first in a fetch.
 */
export function wholeBatches(limitBytes: number, { largestBytes, cutBytes }: SeenBatches): number {
  if (cutBytes === undefined) return limitBytes;
  const likelyBytes = Math.max(largestBytes, cutBytes);
  const batches = Math.floor(limitBytes / likelyBytes);
  if (batches === 0) return limitBytes;
  const furtherBytes = Math.ceil((batches - 1) * likelyBytes * allowance);
  return Math.min(limitBytes, cutBytes + furtherBytes + frontBytes);
}
