/**
 * The partition that Kafka's Java producer gives a record with this key, so that a user's records stay
 * together whatever wrote them. Without a key: any.
 */
export function partitionOf(key: Buffer | string | null, partitions: number): number {
  if (key === null) return Math.floor(Math.random() * partitions);
  // The sign bit is masked, not negated, as Java's producer does it.
  return (murmur2(typeof key === 'string' ? Buffer.from(key) : key) & 0x7fffffff) % partitions;
}

const seed = 0x9747b28c;
const multiplier = 0x5bd1e995;

/** MurmurHash2 for 32 bits, with the seed that Kafka uses; a signed result, as in Java. */
export function murmur2(bytes: Uint8Array): number {
  const { length } = bytes;
  const wholeWordsEnd = length - (length % 4);
  let hash = seed ^ length;
  for (let i = 0; i < wholeWordsEnd; i += 4) {
    const word = byte(bytes, i) | (byte(bytes, i + 1) << 8) | (byte(bytes, i + 2) << 16);
    const mixed = Math.imul(word | (byte(bytes, i + 3) << 24), multiplier);
    hash = Math.imul(hash, multiplier) ^ Math.imul(mixed ^ (mixed >>> 24), multiplier);
  }
  if (wholeWordsEnd < length) {
    // Up to three bytes, little-endian; those past the end count as zero.
    const rest = byte(bytes, wholeWordsEnd) | (byte(bytes, wholeWordsEnd + 1) << 8);
    hash = Math.imul(hash ^ rest ^ (byte(bytes, wholeWordsEnd + 2) << 16), multiplier);
  }
  hash = Math.imul(hash ^ (hash >>> 13), multiplier);
  return hash ^ (hash >>> 15);
}

function byte(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0;
}
