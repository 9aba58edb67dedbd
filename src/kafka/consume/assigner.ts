import type { GroupMember, PartitionAssigner } from 'kafkajs';
import { kafkajs } from '../kafkajs/library.ts';

const { AssignerProtocol } = kafkajs;

/**
 * Gives partition index i of all the group's topics to one member, so that a user's fresh and
 * retried records, and a destination's share of them, are in one process. kafkajs's own assigner
 * deals every topic out anew.
 *
 * The protocol's user data names the indices that a member owns; it keeps them as far as a fair
 * share allows. What moves is delivered twice: records in flight are read again by the new owner.
 */
export interface AssignerHooks {
  /** The indices that this member owns now. */
  ownedIndices(): readonly number[];
  /**
   * This member assigns, from its own list of topics, and another member has topics that are not in
   * it. Nobody would read them.
   */
  onUnknownTopics(topics: string[]): void;
}

const protocolName = 'same-index';
const protocolVersion = 1;

export function createAssigner(hooks: AssignerHooks): PartitionAssigner {
  return ({ cluster }) => ({
    name: protocolName,
    version: protocolVersion,
    protocol: ({ topics }) => ({
      name: protocolName,
      metadata: AssignerProtocol.MemberMetadata.encode({
        version: protocolVersion,
        topics,
        userData: Buffer.from(JSON.stringify(hooks.ownedIndices())),
      }),
    }),
    assign: ({ members, topics }) => {
      const decoded = members.map(decodeMember);
      const unknown = decoded.flatMap((member) => member.topics).filter((t) => !topics.includes(t));
      if (unknown.length > 0) hooks.onUnknownTopics([...new Set(unknown)]);
      const counts = new Map(
        topics.map((topic) => [topic, cluster.findTopicPartitionMetadata(topic).length]),
      );
      const indices = shareIndices(Math.max(0, ...counts.values()), decoded);
      return Promise.resolve(
        members.map(({ memberId }) => ({
          memberId,
          memberAssignment: AssignerProtocol.MemberAssignment.encode({
            version: protocolVersion,
            assignment: partitionsAt(indices.get(memberId) ?? [], counts),
            userData: Buffer.alloc(0),
          }),
        })),
      );
    },
  });
}

export interface MemberClaim {
  readonly memberId: string;
  readonly owned: readonly number[];
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

function partitionsAt(
  indices: readonly number[],
  counts: ReadonlyMap<string, number>,
): Record<string, number[]> {
  const assignment: Record<string, number[]> = {};
  for (const [topic, count] of counts) {
    const partitions = indices.filter((index) => index < count);
    if (partitions.length > 0) assignment[topic] = partitions;
  }
  return assignment;
}

function decodeMember(member: GroupMember): MemberClaim & { readonly topics: readonly string[] } {
  const metadata = AssignerProtocol.MemberMetadata.decode(member.memberMetadata);
  return {
    memberId: member.memberId,
    topics: metadata?.topics ?? [],
    owned: decodeOwned(metadata?.userData),
  };
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
