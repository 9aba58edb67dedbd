import type { KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';

export interface GroupCommit {
  readonly offset: number;
  readonly metadata: string;
}

interface GroupMember {
  protocols: readonly { readonly name: string; readonly metadata: Buffer }[];
  /** What it has been assigned in this generation. */
  assignment: Buffer;
  join: ((answer: JoinAnswer) => void) | undefined;
  sync: ((answer: SyncAnswer) => void) | undefined;
}

interface JoinAnswer {
  readonly error: KafkaErrorName;
  readonly generation: number;
  readonly protocol: string | null;
  readonly leaderId: string;
  readonly memberId: string;
  readonly members: readonly { readonly memberId: string; readonly memberMetadata: Buffer }[];
}

interface SyncAnswer {
  readonly error: KafkaErrorName;
  readonly assignment: Buffer;
}

export interface JoinRequest {
  readonly memberId: string;
  readonly groupProtocols: GroupMember['protocols'];
}

export interface SyncRequest {
  readonly memberId: string;
  readonly generationId: number;
  readonly groupAssignment: readonly {
    readonly memberId: string;
    readonly memberAssignment: Buffer;
  }[];
}

const nothing = Buffer.alloc(0);

/**
 * A consumer group as its coordinator has it (Kafka's classic protocol): members join, the first of them
 * assigns, and all hear of it. Time is no part of it: whoever dies is expelled by the test.
 */
export class MemoryGroup {
  /** Node id. */
  coordinator: number;
  readonly commits: Map<string, GroupCommit> = new Map<string, GroupCommit>();
  generation = 0;
  /** What is answered to whoever looks for the coordinator. */
  findError: KafkaErrorName | undefined;
  /** What is answered to every join. */
  joinError: KafkaErrorName | undefined;
  /** What is answered to every heartbeat. */
  heartbeatError: KafkaErrorName | undefined;
  /** What is answered to the next sync. */
  syncError: KafkaErrorName | undefined;
  /** How often members joined all anew. */
  rebalances = 0;
  readonly #members = new Map<string, GroupMember>();
  /** Told their ids, and not in the group yet. */
  readonly #awaited = new Set<string>();
  #state: 'empty' | 'joining' | 'syncing' | 'stable' = 'empty';
  #leaderId = '';
  #protocol = '';
  #ids = 0;

  constructor(coordinator: number) {
    this.coordinator = coordinator;
  }

  get memberIds(): string[] {
    return [...this.#members.keys()];
  }

  /** What each member reads, as its coordinator was told. */
  get assignments(): readonly Buffer[] {
    return Array.from(this.#members.values(), ({ assignment }) => assignment);
  }

  get leaderId(): string {
    return this.#leaderId;
  }

  get isStable(): boolean {
    return this.#state === 'stable';
  }

  /** It has joined, and waits for the others. */
  isWaiting(memberId: string): boolean {
    const member = this.#members.get(memberId);
    return member?.join !== undefined || member?.sync !== undefined;
  }

  async join({ memberId, groupProtocols }: JoinRequest): Promise<JoinAnswer> {
    if (this.joinError !== undefined) return this.#joinRefusal(this.joinError, memberId);
    if (memberId === '') {
      const given = `member-${++this.#ids}`;
      this.#awaited.add(given);
      return this.#joinRefusal('MEMBER_ID_REQUIRED', given);
    }
    const known = this.#members.get(memberId);
    if (known === undefined && !this.#awaited.delete(memberId))
      return this.#joinRefusal('UNKNOWN_MEMBER_ID', memberId);
    const isSame = known !== undefined && areSame(known.protocols, groupProtocols);
    // One who follows and wants nothing else than before is told again what holds.
    if (isSame && this.#state === 'stable' && memberId !== this.#leaderId)
      return this.#joinAnswer(memberId);
    const member = known ?? {
      protocols: [],
      assignment: nothing,
      join: undefined,
      sync: undefined,
    };
    member.protocols = groupProtocols;
    this.#members.set(memberId, member);
    this.#rebalance();
    const answer = new Promise<JoinAnswer>((resolve) => {
      member.join = resolve;
    });
    this.#completeJoin();
    return answer;
  }

  async sync({ memberId, generationId, groupAssignment }: SyncRequest): Promise<SyncAnswer> {
    const member = this.#members.get(memberId);
    const error = this.syncError ?? this.#judge(member, generationId);
    this.syncError = undefined;
    if (error !== 'NONE') return { error, assignment: nothing };
    if (this.#state === 'joining') return { error: 'REBALANCE_IN_PROGRESS', assignment: nothing };
    if (this.#state === 'syncing' && memberId === this.#leaderId) {
      for (const each of this.#members.values()) each.assignment = nothing;
      for (const { memberId: to, memberAssignment } of groupAssignment) {
        const assigned = this.#members.get(to);
        if (assigned !== undefined) assigned.assignment = memberAssignment;
      }
      this.#state = 'stable';
      for (const each of this.#members.values()) {
        each.sync?.({ error: 'NONE', assignment: each.assignment });
        each.sync = undefined;
      }
    }
    if (this.#state === 'stable')
      return { error: 'NONE', assignment: member?.assignment ?? nothing };
    return new Promise((resolve) => {
      if (member !== undefined) member.sync = resolve;
    });
  }

  heartbeat(memberId: string, generation: number): KafkaErrorName {
    const error = this.heartbeatError ?? this.#judge(this.#members.get(memberId), generation);
    if (error !== 'NONE') return error;
    return this.#state === 'joining' ? 'REBALANCE_IN_PROGRESS' : 'NONE';
  }

  /** Whether a commit may be written. */
  judgeCommit(memberId: string, generation: number): KafkaErrorName {
    if (memberId === '' && generation < 0 && this.#members.size === 0) return 'NONE';
    const error = this.#judge(this.#members.get(memberId), generation);
    if (error !== 'NONE') return error;
    return this.#state === 'syncing' ? 'REBALANCE_IN_PROGRESS' : 'NONE';
  }

  /** It leaves, or its session is over. */
  remove(memberId: string): void {
    const member = this.#members.get(memberId);
    this.#awaited.delete(memberId);
    if (member === undefined) return;
    this.#members.delete(memberId);
    member.join?.(this.#joinRefusal('UNKNOWN_MEMBER_ID', memberId));
    member.sync?.({ error: 'UNKNOWN_MEMBER_ID', assignment: nothing });
    if (this.#members.size === 0) {
      this.#state = 'empty';
      return;
    }
    this.#rebalance();
    this.#completeJoin();
  }

  /** The sessions of all who have not joined this rebalance are over. */
  removeAbsent(): void {
    if (this.#state !== 'joining') return;
    for (const [memberId, { join }] of [...this.#members])
      if (join === undefined) this.remove(memberId);
  }

  /** As after a rebalance that this member was no part of. */
  skipGeneration(): void {
    this.generation += 1;
  }

  #judge(member: GroupMember | undefined, generation: number): KafkaErrorName {
    if (member === undefined) return 'UNKNOWN_MEMBER_ID';
    return generation === this.generation ? 'NONE' : 'ILLEGAL_GENERATION';
  }

  #rebalance(): void {
    if (this.#state === 'joining') return;
    this.#state = 'joining';
    for (const member of this.#members.values()) {
      member.sync?.({ error: 'REBALANCE_IN_PROGRESS', assignment: nothing });
      member.sync = undefined;
    }
  }

  #completeJoin(): void {
    const members = [...this.#members];
    if (this.#state !== 'joining' || members.some(([, { join }]) => join === undefined)) return;
    this.generation += 1;
    this.rebalances += 1;
    this.#state = 'syncing';
    if (!this.#members.has(this.#leaderId)) this.#leaderId = members[0]?.[0] ?? '';
    this.#protocol = this.#choose();
    for (const [memberId, member] of members) {
      const { join } = member;
      member.join = undefined;
      join?.(this.#joinAnswer(memberId));
    }
  }

  /** The one that the leader likes best, of those that all of them speak. */
  #choose(): string {
    const all = [...this.#members.values()];
    const liked = this.#members.get(this.#leaderId)?.protocols ?? [];
    const spoken = liked.find(({ name }) =>
      all.every(({ protocols }) => protocols.some((each) => each.name === name)),
    );
    return spoken?.name ?? '';
  }

  #joinAnswer(memberId: string): JoinAnswer {
    const metadataOf = ({ protocols }: GroupMember): Buffer =>
      protocols.find(({ name }) => name === this.#protocol)?.metadata ?? nothing;
    const members = Array.from(this.#members, ([id, member]) => ({
      memberId: id,
      memberMetadata: metadataOf(member),
    }));
    return {
      error: 'NONE',
      generation: this.generation,
      protocol: this.#protocol,
      leaderId: this.#leaderId,
      memberId,
      members: memberId === this.#leaderId ? members : [],
    };
  }

  #joinRefusal(error: KafkaErrorName, memberId: string): JoinAnswer {
    return { error, generation: -1, protocol: null, leaderId: '', memberId, members: [] };
  }
}

function areSame(a: GroupMember['protocols'], b: GroupMember['protocols']): boolean {
  return (
    a.length === b.length &&
    a.every(({ name, metadata }, i) => b[i]?.name === name && b[i].metadata.equals(metadata))
  );
}
