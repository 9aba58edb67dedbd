import type { GroupRequest } from '../../../harness/kafka/ask-group.ts';
import { MemoryGroup } from '../../../harness/kafka/group.ts';
import type { VirtualTime } from '../virtual-time.ts';

const lookMs = 1_000;
const sessionMs = 10_000;
/** Members say every second that they are there. */
const missedMs = 2_000;
const rebalanceMs = 15_000;
/** What is more than a member's word that it is there. */
const movesMembers: ReadonlySet<string> = new Set(['JoinGroup', 'SyncGroup', 'LeaveGroup']);

/** A consumer group with time: who is silent for too long is expelled, and a rebalance waits only so long. */
export class SimulatedGroup extends MemoryGroup {
  readonly #time: VirtualTime;
  /** By time that was lived through. */
  readonly #seenMs = new Map<string, number>();
  #joiningSinceMs: number | undefined;
  #rebalancesBefore = 0;
  #isWatched = false;

  constructor(time: VirtualTime, coordinator: number) {
    super(coordinator);
    this.#time = time;
  }

  /** Another broker reads from its log who the members are; their sessions begin there. */
  moveTo(nodeId: number): void {
    this.coordinator = nodeId;
    for (const memberId of this.#seenMs.keys()) this.#seenMs.set(memberId, this.#time.livedMs);
  }

  /** No member comes, goes, or is missed. */
  get isSettled(): boolean {
    if (this.#seenMs.size === 0 && this.memberIds.length === 0) return true;
    if (!this.isStable) return false;
    for (const seenMs of this.#seenMs.values())
      if (this.#time.livedMs - seenMs >= missedMs) return false;
    return true;
  }

  /** Before it answers: whoever asks is there. */
  hears(api: string, { memberId = '' }: GroupRequest): void {
    this.sees(memberId);
    if (movesMembers.has(api)) this.#time.happened();
    if (api === 'LeaveGroup') this.#seenMs.delete(memberId);
  }

  sees(memberId: string = ''): void {
    if (memberId === '') return;
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
    const isJoining = !this.isStable && this.memberIds.length > 0;
    // Each rebalance has its own time: in a large group, one may follow the other for long.
    if (this.rebalances !== this.#rebalancesBefore) this.#joiningSinceMs = undefined;
    this.#rebalancesBefore = this.rebalances;
    this.#joiningSinceMs = isJoining ? (this.#joiningSinceMs ?? nowMs) : undefined;
    if (this.#joiningSinceMs !== undefined && nowMs - this.#joiningSinceMs > rebalanceMs) {
      this.#joiningSinceMs = undefined;
      this.#time.happened();
      this.removeAbsent();
    }
    const members = new Set(this.memberIds);
    for (const [memberId, seenMs] of this.#seenMs) {
      // Who waits for the others to join says nothing meanwhile.
      if (nowMs - seenMs <= sessionMs || (members.has(memberId) && this.isWaiting(memberId)))
        continue;
      this.#seenMs.delete(memberId);
      this.#time.happened();
      this.remove(memberId);
    }
  }
}
