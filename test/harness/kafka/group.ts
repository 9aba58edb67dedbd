import type { KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import { askGroup, type AskedGroup, type GroupRequest } from '../../kafka/ask-group.ts';
import { FakeGroup } from '../../kafka/fake-group.ts';
import type { VirtualTime } from '../../lab/simulation/virtual-time.ts';

const lookMs = 1_000;
const sessionMs = 10_000;
/** Members say every second that they are there. */
const missedMs = 2_000;
const rebalanceMs = 15_000;
/** Kafka's default for what travels with a committed offset. */
const mostMetadataBytes = 4_096;
/** What is more than a member's word that it is there. */
const movesMembers: ReadonlySet<string> = new Set(['JoinGroup', 'SyncGroup', 'LeaveGroup']);

/** A consumer group with time: who is silent for too long is expelled, and a rebalance waits only so long. */
export class SimulatedGroup {
  /** Node id. */
  coordinator: number;
  readonly #time: VirtualTime;
  readonly #fake: FakeGroup;
  readonly #withheld: ReadonlySet<string>;
  /** By time that was lived through. */
  readonly #seenMs = new Map<string, number>();
  #joiningSinceMs: number | undefined;
  #rebalancesBefore = 0;
  #isWatched = false;

  /** @param withheld topics that nobody has a right to */
  constructor(time: VirtualTime, coordinator: number, withheld: ReadonlySet<string>) {
    this.#time = time;
    this.#withheld = withheld;
    this.coordinator = coordinator;
    this.#fake = new FakeGroup(coordinator);
  }

  /** Another broker reads from its log who the members are; their sessions begin there. */
  moveTo(nodeId: number): void {
    this.coordinator = nodeId;
    for (const memberId of this.#seenMs.keys()) this.#seenMs.set(memberId, this.#time.livedMs);
  }

  get generation(): number {
    return this.#fake.generation;
  }

  get memberIds(): readonly string[] {
    return this.#fake.memberIds;
  }

  get isStable(): boolean {
    return this.#fake.isStable;
  }

  /** No member comes, goes, or is missed. */
  get isSettled(): boolean {
    if (this.#seenMs.size === 0 && this.memberIds.length === 0) return true;
    if (!this.isStable) return false;
    for (const seenMs of this.#seenMs.values())
      if (this.#time.livedMs - seenMs >= missedMs) return false;
    return true;
  }

  /** How often members have joined anew. */
  get rebalances(): number {
    return this.#fake.rebalances;
  }

  get assignments(): FakeGroup['assignments'] {
    return this.#fake.assignments;
  }

  get commits(): FakeGroup['commits'] {
    return this.#fake.commits;
  }

  /** @param nodeId that was asked */
  async answer(nodeId: number, api: string, request: GroupRequest): Promise<object> {
    const isMisplaced = this.coordinator !== nodeId;
    if (!isMisplaced) {
      this.#see(request.memberId);
      if (movesMembers.has(api)) this.#time.happened();
      if (api === 'LeaveGroup') this.#seenMs.delete(request.memberId ?? '');
    }
    const committedError = (topic: string): KafkaErrorName | undefined =>
      this.#withheld.has(topic) ? 'TOPIC_AUTHORIZATION_FAILED' : undefined;
    const commitError: AskedGroup['commitError'] = (topic, _partition, metadata) =>
      committedError(topic) ??
      (metadata.length > mostMetadataBytes ? 'OFFSET_METADATA_TOO_LARGE' : undefined);
    const asked: AskedGroup = { group: this.#fake, isMisplaced, commitError, committedError };
    const answer = await askGroup(asked, api, request);
    if (api === 'JoinGroup') this.#see((answer as { readonly memberId?: string }).memberId);
    return answer;
  }

  #see(memberId: string | undefined): void {
    if (memberId === undefined || memberId === '') return;
    this.#seenMs.set(memberId, this.#time.livedMs);
    if (!this.#isWatched) this.#watch();
  }

  #watch(): void {
    this.#isWatched = true;
    this.#time.pollAfter(lookMs, () => {
      this.#isWatched = false;
      this.#expelSilent();
      if (this.#seenMs.size > 0) this.#watch();
    });
  }

  #expelSilent(): void {
    const nowMs = this.#time.livedMs;
    const isJoining = !this.#fake.isStable && this.#fake.memberIds.length > 0;
    // Each rebalance has its own time: in a large group, one may follow the other for long.
    if (this.#fake.rebalances !== this.#rebalancesBefore) this.#joiningSinceMs = undefined;
    this.#rebalancesBefore = this.#fake.rebalances;
    this.#joiningSinceMs = isJoining ? (this.#joiningSinceMs ?? nowMs) : undefined;
    if (this.#joiningSinceMs !== undefined && nowMs - this.#joiningSinceMs > rebalanceMs) {
      this.#joiningSinceMs = undefined;
      this.#time.happened();
      this.#fake.removeAbsent();
    }
    const members = new Set(this.#fake.memberIds);
    for (const [memberId, seenMs] of this.#seenMs) {
      // Who waits for the others to join says nothing meanwhile.
      if (nowMs - seenMs <= sessionMs || (members.has(memberId) && this.#fake.isWaiting(memberId)))
        continue;
      this.#seenMs.delete(memberId);
      this.#time.happened();
      this.#fake.remove(memberId);
    }
  }
}
