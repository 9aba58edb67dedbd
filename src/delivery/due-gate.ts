import type { Clock, Timer } from '../ops/clock.ts';
import type { Claim } from './job.ts';
import type { TakenRecord } from '../kafka/consume/taken-record.ts';
import { RecalledRecords } from './recalled-records.ts';
import { takeDown, WaitingRecords } from './waiting-records.ts';
import type { HeldRecord } from './waiting-records.ts';

/** Longer timers are split, so that a clock that was set, or a suspended machine, is noticed in time. */
const maxTimerMs = 60_000;
/**
 * Least time between two checks for due records. A timer for each record would cost as much as reading the
 * record.
 */
const minTimerMs = 20;
/**
 * The most that is set aside in one partition. A commit lists 3,000 offsets that are not finished before one that is,
 * and the partition's window has 256.
 */
const mostAside = 2_500;
/** The most that is set aside in all partitions, beside the worker's budget for what it reads ahead. */
const mostAsideBytes = 64 * 1024 * 1024;

/** Gets a record back that was held until `dueMs`. */
type Pass = (record: TakenRecord, claim: Claim, dueMs: number) => void;

export interface DueGateOptions {
  readonly clock: Clock;
  readonly onDue: Pass;
  /** Gets recalled records that go before their time. */
  readonly onRecalled: Pass;
  /** The destination's lane takes a recalled record of the partition now. */
  readonly mayGo: (destinationId: string, claim: Claim) => boolean;
  /** The offset of the partition before which some records are recalled. */
  readonly recalledBefore: (claim: Claim) => number;
}

/**
 * Holds the records of retry topics until they are due. Each partition has a heap of its own, because due
 * times within one tier differ by a few per cent.
 *
 * Records that an operator has recalled go as soon as their lane takes them. Some may lie far behind others that are
 * not due, so these others are set aside: they keep their due times, and leave their room in the window.
 */
export class DueGate {
  readonly #options: DueGateOptions;
  readonly #partitions = new Map<Claim, WaitingRecords>();
  readonly #recalled = new RecalledRecords();
  #asideBytes = 0;
  #timer: Timer | undefined;
  #timerDueMs = Infinity;

  constructor(options: DueGateOptions) {
    this.#options = options;
  }

  /** Keeps a copy of the record, and passes it on when it is due. */
  hold(record: TakenRecord, claim: Claim, dueMs: number): void {
    let partition = this.#partitions.get(claim);
    if (partition === undefined) {
      partition = new WaitingRecords();
      this.#partitions.set(claim, partition);
    }
    const held = partition.add(record, dueMs);
    if (record.offset < this.#options.recalledBefore(claim)) this.#setAside(partition, held);
    this.#look(dueMs);
  }

  /** Keeps a copy of the recalled record, and passes it on when its lane takes it, or when it is due. */
  holdRecalled(record: TakenRecord, claim: Claim, dueMs: number, destinationId: string): void {
    this.#recalled.of(destinationId, claim).add(record, dueMs);
    this.#look(0);
  }

  /**
   * An operator has recalled what waits for a destination.
   * @param claims where events of it wait
   */
  recall(
    destinationId: string,
    claims: Iterable<Claim>,
    isRecalled: (record: TakenRecord, claim: Claim) => boolean,
  ): void {
    for (const claim of claims) {
      const partition = this.#partitions.get(claim);
      const wanted = partition?.removeWhere((held) => isRecalled(takeDown(held, claim), claim));
      for (const held of wanted ?? []) {
        if (partition !== undefined) this.#left(partition, held);
        this.#recalled.of(destinationId, claim).put(held);
      }
    }
    for (const [claim, partition] of this.#partitions) {
      const before = this.#options.recalledBefore(claim);
      for (const held of partition.all()) if (held.offset < before) this.#setAside(partition, held);
    }
    this.#look(0);
  }

  /** The partition moves to another worker. */
  release(claim: Claim): void {
    const partition = this.#partitions.get(claim);
    this.#partitions.delete(claim);
    for (const held of partition?.all() ?? []) if (held.isAside) this.#asideBytes -= held.bytes;
    partition?.release();
    this.#recalled.release(claim);
  }

  /** The number of records that wait, by topic. */
  waiting(): Map<string, number> {
    const topics = new Map<string, number>();
    for (const [{ topic }, { size }] of this.#all())
      topics.set(topic, (topics.get(topic) ?? 0) + size);
    return topics;
  }

  /** Passes nothing on anymore. The records held are released. */
  close(): void {
    this.#timer?.cancel();
    for (const claim of new Set(Array.from(this.#all(), ([each]) => each))) this.release(claim);
  }

  *#all(): Generator<readonly [Claim, WaitingRecords], void, undefined> {
    yield* this.#partitions;
    yield* this.#recalled.claims();
  }

  #setAside(partition: WaitingRecords, held: HeldRecord): void {
    const isFull = partition.aside >= mostAside || this.#asideBytes + held.bytes > mostAsideBytes;
    if (held.isAside || isFull || held.owner.setAside === undefined) return;
    held.isAside = true;
    partition.aside += 1;
    this.#asideBytes += held.bytes;
    held.owner.setAside(held.slot);
  }

  #left(partition: WaitingRecords, held: HeldRecord): void {
    if (!held.isAside) return;
    held.isAside = false;
    partition.aside -= 1;
    this.#asideBytes -= held.bytes;
  }

  /** Something is due then, or may go before its time. */
  #look(dueMs: number): void {
    if (dueMs < this.#timerDueMs) this.#arm(dueMs, 0);
  }

  #arm(dueMs: number, earliestMs: number): void {
    const { clock } = this.#options;
    this.#timer?.cancel();
    this.#timerDueMs = dueMs;
    const leftMs = Math.max(dueMs - clock.now(), earliestMs);
    this.#timer = clock.after(Math.min(leftMs, maxTimerMs), this.#passOn);
  }

  readonly #passOn = (): void => {
    const { clock, onDue, onRecalled, mayGo } = this.#options;
    this.#timer = undefined;
    const nowMs = clock.now();
    // What comes back meanwhile is looked at next time.
    this.#timerDueMs = -Infinity;
    for (const [claim, partition] of this.#partitions) {
      while (partition.firstDueMs <= nowMs) {
        const held = partition.removeFirst();
        this.#left(partition, held);
        onDue(takeDown(held, claim), claim, held.dueMs);
      }
    }
    this.#recalled.passOn(nowMs, mayGo, (held, claim) => {
      const pass = held.dueMs <= nowMs ? onDue : onRecalled;
      pass(takeDown(held, claim), claim, held.dueMs);
    });
    this.#timerDueMs = Infinity;
    let firstDueMs = Infinity;
    for (const { firstDueMs: dueMs } of this.#partitions.values())
      firstDueMs = Math.min(firstDueMs, dueMs);
    if (this.#recalled.areSome) firstDueMs = nowMs;
    if (firstDueMs !== Infinity) this.#arm(firstDueMs, minTimerMs);
  };
}
