import type { Cluster } from '../cluster/cluster.ts';
import { errorName, KafkaAnswerError, type KafkaErrorName } from '../protocol/errors.ts';
import type { TopicPartition } from '../record.ts';

/** The member and the generation of a group that a request speaks for. */
export interface MemberIdentity {
  /** Empty before the first join. */
  readonly memberId: string;
  readonly generation: number;
}

export interface Commit extends TopicPartition {
  readonly offset: number;
  readonly metadata: string;
}

export interface CommitAnswer extends TopicPartition {
  readonly error: KafkaErrorName;
}

export interface CommittedOffset extends TopicPartition {
  /** -1: none. */
  readonly offset: number;
  readonly metadata: string | null;
  /** With another one than `NONE`, the offset says nothing. */
  readonly error: KafkaErrorName;
}

export interface JoinRequest {
  readonly memberId: string;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  /** In order of preference. */
  readonly protocols: readonly { readonly name: string; readonly metadata: Buffer }[];
}

export interface JoinAnswer {
  readonly error: KafkaErrorName;
  readonly memberId: string;
  readonly generation: number;
  readonly protocol: string;
  readonly isLeader: boolean;
  /** All members, for the leader alone. */
  readonly members: readonly GroupMemberMetadata[];
}

export interface GroupMemberMetadata {
  readonly memberId: string;
  readonly metadata: Buffer;
}

/** After these errors, the group's coordinator has to be found again. */
const elsewhere: ReadonlySet<KafkaErrorName> = new Set<KafkaErrorName>([
  'NOT_COORDINATOR',
  'COORDINATOR_NOT_AVAILABLE',
]);

/** A heartbeat or commit that takes longer is given up, long before the session is over. */
const answerMs = 3_000;
/** Time for the answer to arrive after the time that the broker itself may take. */
const graceMs = 5_000;

/** A group's coordinator, whichever broker that is. Every request may have to be repeated. */
export class Coordinator {
  readonly #cluster: Cluster;
  readonly #groupId: string;
  #nodeId: number | undefined;
  /** The coordinator before, which failed, or -1 where none was found: it may go on naming itself. */
  #failed: number | undefined;

  constructor(cluster: Cluster, groupId: string) {
    this.#cluster = cluster;
    this.#groupId = groupId;
  }

  /**
   * Asks from now on whom the other asks. One that was replaced and has not heard of it may still be asked here: it
   * says that the generation is wrong, in which the other has just let a member join.
   */
  follow(other: Coordinator): void {
    // Before the first look-up, the address would not be known.
    if (this.#nodeId !== undefined) this.#nodeId = other.#nodeId;
  }

  async join(request: JoinRequest): Promise<JoinAnswer> {
    const { memberId, sessionTimeoutMs, rebalanceTimeoutMs, protocols } = request;
    const answer = await this.#ask<{
      readonly errorCode: number;
      readonly generationId: number;
      readonly groupProtocol: string | null;
      readonly leaderId: string;
      readonly memberId: string;
      readonly members: readonly { readonly memberId: string; readonly memberMetadata: Buffer }[];
    }>(
      'JoinGroup',
      {
        groupId: this.#groupId,
        memberId,
        sessionTimeout: sessionTimeoutMs,
        rebalanceTimeout: rebalanceTimeoutMs,
        protocolType: 'consumer',
        groupProtocols: protocols,
      },
      rebalanceTimeoutMs + graceMs,
    );
    return {
      error: this.#noteError(answer.errorCode),
      memberId: answer.memberId,
      generation: answer.generationId,
      protocol: answer.groupProtocol ?? '',
      isLeader: answer.leaderId === answer.memberId,
      members: answer.members.map((member) => ({
        memberId: member.memberId,
        metadata: member.memberMetadata,
      })),
    };
  }

  /** @param assignments of all members, from the leader alone */
  async sync(
    member: MemberIdentity,
    assignments: readonly { readonly memberId: string; readonly memberAssignment: Buffer }[],
    rebalanceTimeoutMs: number,
  ): Promise<{ readonly error: KafkaErrorName; readonly assignment: Buffer }> {
    const { errorCode, memberAssignment } = await this.#ask<{
      readonly errorCode: number;
      readonly memberAssignment: Buffer;
    }>(
      'SyncGroup',
      {
        groupId: this.#groupId,
        memberId: member.memberId,
        generationId: member.generation,
        groupAssignment: assignments,
      },
      rebalanceTimeoutMs + graceMs,
    );
    return { error: this.#noteError(errorCode), assignment: memberAssignment };
  }

  async heartbeat({ memberId, generation }: MemberIdentity): Promise<KafkaErrorName> {
    const request = { groupId: this.#groupId, memberId, groupGenerationId: generation };
    const { errorCode } = await this.#ask<{ readonly errorCode: number }>('Heartbeat', request);
    return this.#noteError(errorCode);
  }

  async leave({ memberId }: MemberIdentity): Promise<void> {
    const members = [{ memberId, groupInstanceId: null }];
    await this.#ask('LeaveGroup', { groupId: this.#groupId, memberId, members });
  }

  /** Returns each partition's own answer. */
  async commit(
    { memberId, generation }: MemberIdentity,
    commits: readonly Commit[],
  ): Promise<readonly CommitAnswer[]> {
    const { responses } = await this.#ask<{
      readonly responses: readonly {
        readonly topic: string;
        readonly partitions: readonly { readonly partition: number; readonly errorCode: number }[];
      }[];
    }>('OffsetCommit', {
      groupId: this.#groupId,
      memberId,
      groupGenerationId: generation,
      topics: byTopic(commits, ({ partition, offset, metadata }) => ({
        partition,
        offset: String(offset),
        metadata,
      })),
    });
    return responses.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, errorCode }) => ({
        topic,
        partition,
        error: this.#noteError(errorCode),
      })),
    );
  }

  /** @throws KafkaAnswerError unless all partitions are answered */
  async committed(partitions: readonly TopicPartition[]): Promise<readonly CommittedOffset[]> {
    const answer = await this.#ask<{
      readonly errorCode?: number;
      readonly responses: readonly {
        readonly topic: string;
        readonly partitions: readonly {
          readonly partition: number;
          readonly offset: string;
          readonly metadata: string | null;
          readonly errorCode: number;
        }[];
      }[];
    }>('OffsetFetch', {
      groupId: this.#groupId,
      topics: byTopic(partitions, ({ partition }) => ({ partition })),
    });
    this.#require(answer.errorCode ?? 0);
    const committed = answer.responses.flatMap(({ topic, partitions: answered }) =>
      answered.map(({ partition, offset, metadata, errorCode }) => {
        const error = this.#noteError(errorCode);
        return { topic, partition, offset: Number(offset), metadata, error };
      }),
    );
    if (committed.length < partitions.length)
      throw new Error(
        `the coordinator of group ${this.#groupId} does not answer for all partitions`,
      );
    return committed;
  }

  async #ask<T>(apiName: string, request: object, timeoutMs: number = answerMs): Promise<T> {
    try {
      const nodeId = (this.#nodeId ??= await this.#cluster.findCoordinator(
        this.#groupId,
        this.#failed,
      ));
      return await this.#cluster.askCoordinator<T>(nodeId, apiName, request, timeoutMs);
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  #leave(): void {
    this.#failed = this.#nodeId ?? this.#failed ?? -1;
    this.#nodeId = undefined;
  }

  #noteError(code: number): KafkaErrorName {
    const error = errorName(code);
    if (elsewhere.has(error)) this.#leave();
    return error;
  }

  #require(code: number): void {
    const error = this.#noteError(code);
    if (error !== 'NONE')
      throw new KafkaAnswerError(error, `the committed offsets of group ${this.#groupId}`);
  }
}

function byTopic<P extends TopicPartition, T>(
  partitions: readonly P[],
  told: (partition: P) => T,
): { readonly topic: string; readonly partitions: T[] }[] {
  const topics = new Map<string, T[]>();
  for (const partition of partitions) {
    const known = topics.get(partition.topic);
    if (known === undefined) topics.set(partition.topic, [told(partition)]);
    else known.push(told(partition));
  }
  return Array.from(topics, ([topic, told]) => ({ topic, partitions: told }));
}
