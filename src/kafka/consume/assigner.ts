import { kafkajs } from '../kafkajs/library.ts';
import { ByteReader } from '../protocol/fields.ts';
import type { TopicPartition } from '../record.ts';

const { AssignerProtocol } = kafkajs;

/**
 * Gives partition index i of all the group's topics to one member, so that a user's fresh and retried
 * records, and a destination's share of them, are in one process.
 *
 * A member's user data names the indices that it owns; it keeps them as far as a fair share allows. It also
 * says up to which level of formats the member reads, for whoever writes to the topics. In the
 * cooperative protocol (as KIP-429 has it) an index that another member still owns is given to nobody: that
 * member lets go of it, joins again without it, and then it is given away. What stays is read on meanwhile.
 */
export const cooperativeProtocol = 'same-index.cooperative';
/** The protocol of releases before this one: whatever moves is read by its new owner at once. */
export const eagerProtocol = 'same-index';
const protocolVersion = 1;

export interface MemberClaim {
  readonly memberId: string;
  /** Indices. */
  readonly owned: readonly number[];
}

/** The wishes that a member tells the one who assigns. */
export interface MemberWishes {
  readonly topics: readonly string[];
  readonly owned: readonly number[];
  /** The parts that the member wants the partition for; undefined: all. See `assignParts`. */
  readonly parts?: readonly string[] | undefined;
}

/** The user data is an array, of which former releases take the numbers and leave everything else out. */
export function encodeWishes({ topics, owned, parts }: MemberWishes): Buffer {
  return AssignerProtocol.MemberMetadata.encode({
    version: protocolVersion,
    topics: [...topics],
    userData: Buffer.from(JSON.stringify([...owned, { parts }])),
  });
}

/** Metadata that cannot be read says nothing: one member must not keep the others from their share. */
export function decodeWishes(metadata: Buffer): MemberWishes {
  try {
    const reader = readerBehindVersion(metadata);
    const topics = reader.array(() => reader.string());
    return { topics, ...decodeUserData(reader.nullableBytes()) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { topics: [], ...decodeUserData(null) };
  }
}

function readerBehindVersion(bytes: Buffer): ByteReader {
  const reader = new ByteReader(bytes);
  reader.int16();
  return reader;
}

/** Another release's user data is no reason to fail the whole group. */
function decodeUserData(userData: Buffer | null): Omit<MemberWishes, 'topics'> {
  const parsed = parse(userData ?? Buffer.alloc(0));
  const said = Array.isArray(parsed) ? (parsed as unknown[]) : [];
  return {
    owned: said.filter(isIndex),
    parts: said.map(partsOf).find((parts) => parts !== undefined),
  };
}

function parse(userData: Buffer): unknown {
  try {
    return JSON.parse(userData.toString());
  } catch {
    return undefined;
  }
}

function isIndex(said: unknown): said is number {
  return Number.isSafeInteger(said) && (said as number) >= 0;
}

function partsOf(said: unknown): readonly string[] | undefined {
  const parts = (said as { readonly parts?: unknown } | null)?.parts;
  return Array.isArray(parts) && parts.every((part) => typeof part === 'string')
    ? parts
    : undefined;
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

/** @throws RangeError when the bytes are no assignment */
export function decodeAssignment(bytes: Buffer): TopicPartition[] {
  if (bytes.length === 0) return [];
  const reader = readerBehindVersion(bytes);
  const byTopic = reader.array(() => {
    const topic = reader.string();
    return reader.array(() => ({ topic, partition: reader.int32() }));
  });
  return byTopic.flat();
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

/** A member of a group whose partition stands for a right. */
export interface PartsClaim extends MemberClaim {
  /** Undefined: all. */
  readonly parts?: readonly string[] | undefined;
}

/**
 * Decides who may have the one partition of a group in which any member names parts: as many members as want different
 * parts. Owners keep it; of several others that want the same, the first by id has it. Releases that know of no
 * parts want all of them, and give the partition to one member.
 */
export function assignParts(
  members: readonly PartsClaim[],
): ReadonlyMap<string, readonly number[]> {
  const byId = members.toSorted((a, b) => (a.memberId < b.memberId ? -1 : 1));
  const owners = byId.filter(({ owned }) => owned.length > 0);
  const holders: PartsClaim[] = [];
  for (const owner of owners) if (holders.every((each) => !meet(each, owner))) holders.push(owner);
  // An owner that has to let go does so only when it hears of that.
  const taken = [...owners];
  for (const member of byId) {
    if (owners.includes(member) || taken.some((each) => meet(each, member))) continue;
    taken.push(member);
    holders.push(member);
  }
  return new Map(holders.map(({ memberId }) => [memberId, [0]]));
}

function meet({ parts }: PartsClaim, { parts: others }: PartsClaim): boolean {
  if (parts === undefined || others === undefined) return true;
  const known = new Set(parts);
  return others.some((part) => known.has(part));
}
