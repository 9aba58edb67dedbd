/** One of several processes that sync the same audience, each the users of its own partitions. */
export interface Shard {
  /** From 1. */
  readonly index: number;
  readonly count: number;
}

export const wholeAudience: Shard = { index: 1, count: 1 };

/** The partitions of `audience-members` whose users a shard owns: each partition has one owner. */
export function ownPartitions({ index, count }: Shard, partitions: number): number[] {
  return Array.from({ length: partitions }, (_, partition) => partition).filter(
    (partition) => partition % count === index - 1,
  );
}

/**
 * `3/8`, or `auto/8` where Kubernetes says which one this is of an Indexed Job. Undefined for anything
 * else. `jobIndex`: JOB_COMPLETION_INDEX, from 0.
 */
export function parseShard(text: string, jobIndex: string | undefined): Shard | undefined {
  const [, given = '', total] = /^(auto|[1-9]\d{0,4})\/([1-9]\d{0,4})$/.exec(text) ?? [];
  const count = Number(total);
  const index = given === 'auto' ? jobShard(jobIndex) : Number(given);
  return index >= 1 && index <= count ? { index, count } : undefined;
}

function jobShard(jobIndex: string | undefined): number {
  return jobIndex !== undefined && /^\d{1,5}$/.test(jobIndex) ? Number(jobIndex) + 1 : NaN;
}

/** In the name of a checkpoint, which belongs to these partitions alone. */
export function shardName({ index, count }: Shard): string {
  return count === 1 ? '' : `.${index}of${count}`;
}
