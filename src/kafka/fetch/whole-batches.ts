/** What an answer has shown of the batches of a partition. Both lengths include the fields at the front. */
export interface SeenBatches {
  /** Of the whole ones; 0: there was none. */
  readonly largestBytes: number;
  /** Of the one that the answer's end has cut, which comes next; undefined: it is not known. */
  readonly cutBytes: number | undefined;
}

/** A batch's offset and length, which come first. */
const frontBytes = 12;
/** Batches that hold as much before compression differ by a few percent after it. */
const allowance = 1 + 1 / 16;

/**
 * How many bytes to ask for. A broker cuts an answer wherever the bytes end that were asked for, and a batch that
 * is cut has to be fetched again, so this is a whole number of batches: the next one, whose length is known, as
 * many more as fit if they are like the largest, and the front of the one behind, which tells its length. If the
 * log has changed and the next batch is larger now, it comes when its partition is the first in a fetch.
 */
export function wholeBatches(limitBytes: number, { largestBytes, cutBytes }: SeenBatches): number {
  if (cutBytes === undefined) return limitBytes;
  const likelyBytes = Math.max(largestBytes, cutBytes);
  const batches = Math.floor(limitBytes / likelyBytes);
  if (batches === 0) return limitBytes;
  const furtherBytes = Math.ceil((batches - 1) * likelyBytes * allowance);
  return Math.min(limitBytes, cutBytes + furtherBytes + frontBytes);
}
