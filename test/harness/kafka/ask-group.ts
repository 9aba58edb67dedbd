import { errorName, type KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import type { GroupCommit, MemoryGroup, JoinRequest, SyncRequest } from './group.ts';

/** What is asked of a coordinator, of whichever kind it is, in kafkajs's names. */
export interface GroupRequest {
  readonly groupId: string;
  readonly memberId?: string;
  readonly groupGenerationId?: number;
  readonly topics?: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly offset?: string;
      readonly metadata?: string;
    }[];
  }[];
}

export interface AskedGroup {
  readonly group: MemoryGroup;
  /** The node that was asked coordinates another group. */
  readonly isMisplaced: boolean;
  /** Why a commit of this partition is refused that the group would take. */
  readonly commitError: (
    topic: string,
    partition: number,
    metadata: string,
  ) => KafkaErrorName | undefined;
  /** Why what is committed of a topic is not told. */
  readonly committedError?: (topic: string) => KafkaErrorName | undefined;
}

const codes = new Map(Array.from({ length: 130 }, (_, i) => [errorName(i - 1), i - 1]));
export const codeOf = (error: KafkaErrorName): number => codes.get(error) ?? -1;

/** A coordinator's answer, in the shapes in which kafkajs decodes it. */
export async function askGroup(
  asked: AskedGroup,
  api: string,
  request: GroupRequest,
): Promise<object> {
  const { group } = asked;
  const misplaced = asked.isMisplaced ? 'NOT_COORDINATOR' : undefined;
  switch (api) {
    case 'JoinGroup': {
      if (misplaced !== undefined) return { errorCode: codeOf(misplaced), members: [] };
      const answer = await group.join(request as unknown as JoinRequest);
      const { error, generation, protocol, leaderId, memberId, members } = answer;
      return {
        errorCode: codeOf(error),
        generationId: generation,
        groupProtocol: protocol,
        leaderId,
        memberId,
        members,
      };
    }
    case 'SyncGroup': {
      if (misplaced !== undefined)
        return { errorCode: codeOf(misplaced), memberAssignment: Buffer.alloc(0) };
      const { error, assignment } = await group.sync(request as unknown as SyncRequest);
      return { errorCode: codeOf(error), memberAssignment: assignment };
    }
    case 'Heartbeat': {
      const { memberId = '', groupGenerationId = -1 } = request;
      return { errorCode: codeOf(misplaced ?? group.heartbeat(memberId, groupGenerationId)) };
    }
    case 'LeaveGroup':
      if (misplaced === undefined) group.remove(request.memberId ?? '');
      return { errorCode: codeOf(misplaced ?? 'NONE') };
    case 'OffsetCommit':
      return { responses: commit(asked, request, misplaced) };
    case 'OffsetFetch':
      return {
        errorCode: codeOf(misplaced ?? 'NONE'),
        responses: committed(group.commits, request, asked.committedError),
      };
    default:
      throw new Error(`${api} is not asked by readers`);
  }
}

function commit(
  { group, commitError }: AskedGroup,
  { memberId = '', groupGenerationId = -1, topics = [] }: GroupRequest,
  misplaced: KafkaErrorName | undefined,
): object[] {
  const refusal = misplaced ?? group.judgeCommit(memberId, groupGenerationId);
  return topics.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map(({ partition, offset = '', metadata = '' }) => {
      const own = commitError(topic, partition, metadata) ?? 'NONE';
      const error = refusal === 'NONE' ? own : refusal;
      if (error === 'NONE')
        group.commits.set(`${topic}/${partition}`, { offset: Number(offset), metadata });
      return { partition, errorCode: codeOf(error) };
    }),
  }));
}

/** Of the answer to `OffsetFetch`. */
export function committed(
  commits: ReadonlyMap<string, GroupCommit>,
  { topics = [] }: GroupRequest,
  errorOf: AskedGroup['committedError'] = () => undefined,
): object[] {
  return topics.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map(({ partition }) => {
      const error = errorOf(topic);
      if (error !== undefined)
        return { partition, offset: '-1', metadata: '', errorCode: codeOf(error) };
      const known = commits.get(`${topic}/${partition}`);
      const offset = String(known?.offset ?? -1);
      return { partition, offset, metadata: known?.metadata ?? '', errorCode: 0 };
    }),
  }));
}
