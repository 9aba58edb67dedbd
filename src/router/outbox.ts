import type { PostriderError } from '../errors.ts';
import type { TakenRecord } from '../kafka/consume/taken-record.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { SteadyClock, Timer } from '../ops/clock.ts';
import { Backlog } from './backlog.ts';
import type { RouterEvents } from './events.ts';

export interface OutboxOptions {
  readonly sink: Pick<Producer, 'produce'>;
  /** The topic for copies whose dedicated topic cannot be written. Workers deliver them from there as well. */
  readonly sharedTopic: string;
  readonly clock: SteadyClock;
  readonly events: RouterEvents;
  /** Called when copies count no longer, so that others may be sent. */
  readonly onRoom: () => void;
}

/** Kafka acknowledges within a tenth of this. Who waits for longer waits for a partition that is away. */
const lateMs = 1_000;
const lookMs = 250;
/** Bound on copies that are late: of 5,000 a second, what is for a third of the partitions in an election. */
const mostLate = 20_000;

/** The copies of one call, or of one rejected record. */
interface Sent {
  /** Undefined: all copies are settled. */
  record: TakenRecord | undefined;
  readonly copies: number;
  readonly sinceMs: number;
  isLate: boolean;
}

/**
 * The copies that are on their way to Kafka. What is late, while others are acknowledged, waits for a topic or a
 * partition that is away: it no longer counts, here or in the window of its partition, so that calls for others go on.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  /** The oldest first; the head may be late and wait for others to be settled. */
  readonly #inTime = new Backlog<Sent>();
  #copies = 0;
  #late = 0;
  #acknowledgedMs = -Infinity;
  #timer: Timer | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Copies that count against what may be on its way. */
  get counted(): number {
    return this.#copies - this.#late;
  }

  get isEmpty(): boolean {
    return this.#copies === 0;
  }

  /** Nothing more is sent. What is on its way still comes to its end. */
  stop(): void {
    this.#timer?.cancel();
  }

  /** @param settled is called when the last copy is; with the first refusal, if there was one */
  send(
    record: TakenRecord,
    copies: readonly OutgoingRecord[],
    settled: (refused: PostriderError | undefined) => void,
  ): void {
    const { clock } = this.#options;
    const sent: Sent = {
      record,
      copies: copies.length,
      sinceMs: clock.steadyNow(),
      isLate: false,
    };
    this.#copies += sent.copies;
    this.#inTime.push(sent);
    this.#timer ??= clock.after(lookMs, this.#look);
    let unsettled = copies.length;
    let refused: PostriderError | undefined;
    // One function for all copies of a call.
    const done = (error?: PostriderError): void => {
      refused ??= error;
      unsettled -= 1;
      if (error === undefined) this.#acknowledgedMs = clock.steadyNow();
      if (unsettled > 0) return;
      sent.record = undefined;
      this.#copies -= sent.copies;
      if (sent.isLate) this.#late -= sent.copies;
      settled(refused);
      this.#options.onRoom();
    };
    for (const copy of copies) this.#produce(copy, done);
  }

  #produce(copy: OutgoingRecord, done: (refused?: PostriderError) => void): void {
    const { sink, sharedTopic, events } = this.#options;
    if (copy.elsewhereAfterMs === undefined) {
      sink.produce(copy, done);
      return;
    }
    sink.produce(copy, (error) => {
      if (error?.code !== 'unwritable') {
        done(error);
        return;
      }
      events.detoured(copy.topic, error);
      sink.produce({ ...copy, topic: sharedTopic, elsewhereAfterMs: undefined }, done);
    });
  }

  readonly #look = (): void => {
    const { clock, onRoom } = this.#options;
    const nowMs = clock.steadyNow();
    this.#timer = undefined;
    // Where nothing is acknowledged, all of Kafka is away, and there is nothing to go on with.
    const areOthersWritten = nowMs - this.#acknowledgedMs < lateMs;
    for (let first = this.#inTime.first; first !== undefined; first = this.#inTime.first) {
      const { record, copies } = first;
      if (record !== undefined) {
        if (nowMs - first.sinceMs < lateMs) break;
        if (!areOthersWritten || this.#late + copies > mostLate) break;
        first.isLate = true;
        this.#late += copies;
        record.setAside();
      }
      this.#inTime.shift();
    }
    if (this.#inTime.size > 0) this.#timer = clock.after(lookMs, this.#look);
    onRoom();
  };
}
