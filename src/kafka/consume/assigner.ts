import { kafkajs } from '../kafkajs/library.ts';
import type { TopicPartition } from '../record.ts';

const { AssignerProtocol } = kafkajs;

/**
 * Gives partition index i of all the group's topics to one member, so that a user's fresh and retried
 * records, and a destination's share of them, are in one process.
 *
 * A member's user data names the indices that it owns; it keeps them as far as a fair share allows. In the
 * cooperative protocol (as KIP-429 has it) an index that another member still owns is given to nobody: that
 * member lets go of it, joins again without it, and then it is given away. What stays is read on meanwhile.
 */
export const cooperativeProtocol = 'same-index.cooperative';
/** What releases before this one speak: whatever moves is read by its new owner at once. */
export const eagerProtocol = 'same-index';
const protocolVersion = 1;

export interface MemberClaim {
  readonly memberId: string;
  /** Indices. */
  readonly owned: readonly number[];
}

/** What a member tells whoever assigns. */
export interface MemberWishes {
  readonly topics: readonly string[];
  readonly owned: readonly number[];
}

export function encodeWishes({ topics, owned }: MemberWishes): Buffer {
  return AssignerProtocol.MemberMetadata.encode({
    version: protocolVersion,
    topics: [...topics],
    userData: Buffer.from(JSON.stringify(owned)),
  });
}

export function decodeWishes(metadata: Buffer): MemberWishes {
  const decoded = AssignerProtocol.MemberMetadata.decode(metadata);
  return { topics: decoded?.topics ?? [], owned: decodeOwned(decoded?.userData) };
}

/** Another version's user data is no reason to fail the whole group. */
function decodeOwned(userData: Buffer | undefined): readonly number[] {
  try {
    const parsed: unknown = JSON.parse((userData ?? Buffer.alloc(0)).toString());
    return Array.isArray(parsed) ? parsed.filter((index) => typeof index === 'number') : [];
  } catch {
    return [];
  }
}

export function encodeAssignment(
  indices: readonly number[],
  counts: ReadonlyMap<string, number>,
): Buffer {
  const assignment: Record<string, number[]> = {};
  for (const [topic, count] of counts) {
    const partitions = indices.filter((index) => index < count);
    if (partitions.length > 0) assignment[topic] = partitions;
  }
  return AssignerProtocol.MemberAssignment.encode({
    version: protocolVersion,
    assignment,
    userData: Buffer.alloc(0),
  });
}

export function decodeAssignment(bytes: Buffer): TopicPartition[] {
  if (bytes.length === 0) return [];
  const decoded = AssignerProtocol.MemberAssignment.decode(bytes);
  return Object.entries(decoded?.assignment ?? {}).flatMap(([topic, partitions]) =>
    partitions.map((partition) => ({ topic, partition })),
  );
}

/** The indices that each member may read now. */
export function assignIndices(
  count: number,
  members: readonly MemberClaim[],
  protocol: string,
): ReadonlyMap<string, readonly number[]> {
  const shares = shareIndices(count, members);
  if (protocol === eagerProtocol) return shares;
  const isFree = (memberId: string, index: number): boolean =>
    members.every((member) => member.memberId === memberId || !member.owned.includes(index));
  return new Map(
    Array.from(shares, ([memberId, indices]) => [
      memberId,
      indices.filter((index) => isFree(memberId, index)),
    ]),
  );
}

/**
 * Deals indices 0 to `count` - 1 to members, as evenly as possible. Each keeps what it owned up to
 * its share; of two that claim the same index the first by id has it.
 */
export function shareIndices(
  count: number,
  members: readonly MemberClaim[],
): ReadonlyMap<string, readonly number[]> {
  // Those that own most first: of the two possible shares, they get the larger.
  const claims = members.toSorted(
    (a, b) => b.owned.length - a.owned.length || (a.memberId < b.memberId ? -1 : 1),
  );
  const taken = new Set<number>();
  const shares = claims.map(({ memberId, owned }, place) => {
    const size = Math.floor(count / claims.length) + (place < count % claims.length ? 1 : 0);
    const kept = [...new Set(owned)]
      .filter((index) => index < count && !taken.has(index))
      .slice(0, size);
    for (const index of kept) taken.add(index);
    return { memberId, size, indices: kept };
  });
  let free = 0;
  for (const { indices, size } of shares) {
    while (indices.length < size) {
      while (taken.has(free)) free += 1;
      taken.add(free);
      indices.push(free);
    }
    indices.sort((a, b) => a - b);
  }
  return new Map(shares.map(({ memberId, indices }) => [memberId, indices]));
}
