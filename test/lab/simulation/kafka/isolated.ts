import type { KafkaErrorName } from '../../../../src/kafka/protocol/errors.ts';
import { codeOf, committed, type GroupRequest } from '../../../harness/kafka/ask-group.ts';
import type { GroupCommit } from '../../../harness/kafka/group.ts';
import type { VirtualTime } from '../virtual-time.ts';
import type { SimulatedGroup } from './group.ts';
import type { SimulatedPartition } from './partition.ts';

const sessionMs = 10_000;
/** Kafka's offsets.commit.timeout.ms: so long it waits for the replicas of what a group is to remember. */
const writeMs = 5_000;

/**
 * What a broker believes that neither its peers nor the controller reach: that all is as it was, and that the
 * others have only stopped to ask. Clients reach it.
 */
export class IsolatedBroker {
  readonly #nodeId: number;
  readonly #partitions: ReadonlyMap<SimulatedPartition, SimulatedPartition>;
  readonly #coordinators: ReadonlyMap<SimulatedGroup, IsolatedCoordinator>;
  readonly #coordinated: ReadonlyMap<SimulatedGroup, number>;

  constructor(
    nodeId: number,
    time: VirtualTime,
    partitions: Iterable<SimulatedPartition>,
    groups: Iterable<SimulatedGroup>,
  ) {
    const all = [...groups];
    this.#nodeId = nodeId;
    this.#partitions = new Map(Array.from(partitions, (each) => [each, each.split(nodeId)]));
    this.#coordinated = new Map(all.map((group) => [group, group.coordinator]));
    this.#coordinators = new Map(
      all
        .filter(({ coordinator }) => coordinator === nodeId)
        .map((group) => [group, new IsolatedCoordinator(time, group)]),
    );
  }

  partition(partition: SimulatedPartition): SimulatedPartition {
    return this.#partitions.get(partition) ?? partition;
  }

  coordinatorOf(group: SimulatedGroup): number {
    return this.#coordinated.get(group) ?? group.coordinator;
  }

  /** Undefined: another broker coordinates the group. */
  coordinator(group: SimulatedGroup): IsolatedCoordinator | undefined {
    return this.#coordinators.get(group);
  }

  /** It hears what the others have decided meanwhile. */
  end(): void {
    for (const [partition, own] of this.#partitions) partition.rejoin(this.#nodeId, own);
  }
}

/** A group in the memory of a coordinator that can write nothing. */
class IsolatedCoordinator {
  readonly #time: VirtualTime;
  readonly #generation: number;
  readonly #isStable: boolean;
  readonly #commits: ReadonlyMap<string, GroupCommit>;
  /** By time that was lived through. */
  readonly #seenMs: Map<string, number>;

  constructor(time: VirtualTime, { generation, isStable, commits, memberIds }: SimulatedGroup) {
    this.#time = time;
    this.#generation = generation;
    this.#isStable = isStable;
    this.#commits = new Map(commits);
    this.#seenMs = new Map(memberIds.map((memberId) => [memberId, time.livedMs]));
  }

  /** Undefined: not within that time. */
  async answer(api: string, request: GroupRequest, timeoutMs: number): Promise<object | undefined> {
    const { memberId = '', groupGenerationId = -1 } = request;
    switch (api) {
      case 'Heartbeat':
        return { errorCode: codeOf(this.#heartbeat(memberId, groupGenerationId)) };
      case 'OffsetFetch':
        return { errorCode: 0, responses: committed(this.#commits, request) };
      case 'LeaveGroup':
        this.#seenMs.delete(memberId);
        return { errorCode: 0 };
    }
    await new Promise<void>((resolve) => {
      this.#time.after(Math.min(writeMs, timeoutMs), resolve);
    });
    return timeoutMs < writeMs ? undefined : unwritten(request);
  }

  /** Who speaks to another coordinator is missed here, and the others are told to join anew. */
  #heartbeat(memberId: string, generation: number): KafkaErrorName {
    if (!this.#seenMs.has(memberId)) return 'UNKNOWN_MEMBER_ID';
    if (generation !== this.#generation) return 'ILLEGAL_GENERATION';
    const nowMs = this.#time.livedMs;
    this.#seenMs.set(memberId, nowMs);
    const isMissed = [...this.#seenMs.values()].some((seenMs) => nowMs - seenMs > sessionMs);
    return isMissed || !this.#isStable ? 'REBALANCE_IN_PROGRESS' : 'NONE';
  }
}

/** To whatever would have to be written first. */
function unwritten({ topics = [] }: GroupRequest): object {
  const errorCode = codeOf('COORDINATOR_NOT_AVAILABLE');
  return {
    errorCode,
    members: [],
    memberAssignment: Buffer.alloc(0),
    groups: [{ errorCode, state: 'Dead', members: [] }],
    responses: topics.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.map(({ partition }) => ({ partition, errorCode })),
    })),
  };
}
