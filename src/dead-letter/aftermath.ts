import { decodeEnvelope, envelopeHeader, parseHeader } from '../event/envelope.ts';
import { withAdmin, type KafkaAdmin, type OffsetRange } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { isFinished } from '../kafka/topic-progress.ts';
import { readRange } from '../kafka/read-range.ts';
import type { IncomingRecord } from '../kafka/record.ts';
import type { SteadyClock } from '../ops/clock.ts';
import type { Topology } from '../topology.ts';
import { deadLetterView } from './dead-letter-view.ts';
import { readDeadLetter, type DeadLetter } from './dead-letter.ts';
import { pause } from './pace.ts';
import { LetterCounts } from './present.ts';

const lookEveryMs = 500;
/** A look that began in time may take so long: what it reads can be much. */
const lastLookMs = 2_000;

export interface AftermathOptions {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly clock: SteadyClock;
  /** The destinations whose events are sent; undefined: all. */
  readonly destinations?: ReadonlySet<string> | undefined;
}

/**
 * The outcome of events that a redrive sent. Only one redrive sends those of a destination at a time, so events with
 * a redrive time within its duration are its own.
 */
export class Aftermath {
  readonly #options: AftermathOptions;
  readonly beganMs: number;
  readonly #retried = new Set<string>();
  readonly #dead = new Set<string>();
  readonly #kept = new Set<string>();
  /** By topic and partition: how far was read. */
  readonly #positions = new Map<string, Map<number, number>>();
  /** By topic that was written to: its ends when everything was sent. */
  readonly #sentTo = new Map<string, readonly OffsetRange[]>();
  /** The destinations of what was sent. */
  readonly #recipients = new Set<unknown>();
  /** Events that were given up again. */
  readonly counts: LetterCounts<DeadLetter> = new LetterCounts(deadLetterView);
  /** Every event was tried at least once, or put off without an attempt. */
  isFinished = false;
  /** Some events were put off in a bundle, which does not name them. */
  hasBundles = false;

  private constructor(options: AftermathOptions) {
    this.#options = options;
    this.beganMs = options.clock.now();
  }

  /** To be called before anything is sent. */
  static async begin(options: AftermathOptions): Promise<Aftermath> {
    const aftermath = new Aftermath(options);
    await withAdmin(options.kafka, async (admin) => {
      for (const topic of await aftermath.#watchedTopics(admin)) {
        const ends = await admin.offsets(topic);
        const position = new Map(ends.map(({ partition, end }) => [partition, end]));
        aftermath.#positions.set(topic, position);
      }
    });
    return aftermath;
  }

  /** The number of events that failed and will be tried again. */
  get retried(): number {
    return [...this.#retried].filter((id) => !this.#dead.has(id) && !this.#kept.has(id)).length;
  }

  /** The number of events that are kept, because their destination was paused meanwhile. */
  get kept(): number {
    return [...this.#kept].filter((id) => !this.#dead.has(id)).length;
  }

  /** The number of these events that are in no other count. */
  restOf(sent: number): number {
    return Math.max(0, sent - this.counts.total - this.retried - this.kept);
  }

  /** The rest are delivered. Those in bundles cannot be distinguished from them. */
  get isRestDelivered(): boolean {
    return this.isFinished && !this.hasBundles;
  }

  sentTo(topic: string, destination: string): void {
    this.#sentTo.set(topic, []);
    this.#recipients.add(destination);
  }

  /**
   * To be called when all is sent. Resolves when everything is finished, `limitMs` have passed, or the signal
   * is aborted, whichever is first.
   */
  async wait(limitMs: number, signal: AbortSignal): Promise<void> {
    const { kafka, clock } = this.#options;
    const untilMs = clock.steadyNow() + limitMs;
    const late = new AbortController();
    const timer = clock.after(limitMs + lastLookMs, () => {
      late.abort();
    });
    const ending = AbortSignal.any([signal, late.signal]);
    const watch = async (admin: KafkaAdmin): Promise<void> => {
      for (const topic of this.#sentTo.keys()) this.#sentTo.set(topic, await admin.offsets(topic));
      for (;;) {
        // Checked before the topics are read: finished events have been written there by then.
        const isTaken = await this.#isEverythingTaken(admin);
        const isSeen = await this.#look(admin, ending);
        this.isFinished = isTaken && isSeen;
        if (this.isFinished || ending.aborted || clock.steadyNow() >= untilMs) return;
        await pause(clock, lookEveryMs, ending);
      }
    };
    await withAdmin(kafka, watch).finally(() => {
      timer.cancel();
    });
  }

  /** Takes a record of a watched topic into account. */
  collect(record: IncomingRecord): void {
    const header = record.headers[envelopeHeader];
    const envelope = header === undefined ? undefined : decodeEnvelope(header);
    const { deadLetter, paused } = this.#options.topology.topics;
    const isLetter = record.topic === deadLetter;
    const isKept = record.topic === paused;
    if (envelope === undefined) {
      // Its header says whose it is, whatever the rest of it says. One that cannot be read may be anybody's.
      const whose = header === undefined ? undefined : parseHeader(header)?.['d'];
      const mayBeOurs = whose === undefined || this.#recipients.has(whose);
      if (!isLetter && !isKept && mayBeOurs) this.hasBundles = true;
      return;
    }
    if (envelope.redrivenMs === undefined || envelope.redrivenMs < this.beganMs) return;
    if (this.#options.destinations?.has(envelope.destinationId) === false) return;
    const id = `${envelope.destinationId} ${envelope.messageId}`;
    if (isKept) this.#kept.add(id);
    else if (!isLetter) this.#retried.add(id);
    else if (!this.#dead.has(id)) {
      this.#dead.add(id);
      this.counts.add(readDeadLetter(record));
    }
  }

  /** The workers' tiers may differ from those that this process has. */
  async #watchedTopics(admin: KafkaAdmin): Promise<string[]> {
    const { topology } = this.#options;
    const names = await admin.topicNames(topology.prefix);
    const retries = names.filter((name) => topology.retryTierMs(name) !== undefined);
    const { deadLetter, paused } = topology.topics;
    return [deadLetter, paused, ...retries];
  }

  async #isEverythingTaken(admin: KafkaAdmin): Promise<boolean> {
    for (const [topic, ranges] of this.#sentTo) {
      const group = this.#options.topology.deliveryGroup(topic);
      const committed = await admin.committedOffsets(group, [topic]);
      if (!isFinished(ranges, committed.get(topic))) return false;
    }
    return true;
  }

  /** @returns false if the signal ended it before everything was read */
  async #look(admin: KafkaAdmin, signal: AbortSignal): Promise<boolean> {
    const { kafka } = this.#options;
    for (const [topic, position] of this.#positions) {
      const ranges = (await admin.offsets(topic)).map(({ partition, start, end }) => ({
        partition,
        start: Math.max(start, position.get(partition) ?? start),
        end,
      }));
      try {
        for await (const record of readRange(kafka, { topic, ranges, signal }))
          this.collect(record);
      } catch (error) {
        if (signal.aborted) return false;
        throw error;
      }
      for (const { partition, end } of ranges) position.set(partition, end);
    }
    return true;
  }
}
