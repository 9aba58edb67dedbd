import type { AttemptLine } from '../event/attempt-line.ts';
import { decodeAttemptLines } from '../event/attempt-line.ts';
import { deliveryKey } from '../event/envelope.ts';
import { isSought, writable } from '../event/sought.ts';
import { openAdmin, type OffsetRange } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { partitionOf } from '../kafka/produce/partitioner.ts';
import { readRange } from '../kafka/read-range.ts';

/** The lines to select. A condition that is not given holds for all. */
export interface AttemptSelection {
  readonly destination?: string | undefined;
  readonly messageId?: string | undefined;
  readonly user?: string | undefined;
  /** Without attempts that succeeded. */
  readonly failed?: boolean | undefined;
}

function selecting({
  destination,
  messageId,
  user,
  failed,
}: AttemptSelection): (line: AttemptLine) => boolean {
  const isMessage = messageId === undefined ? undefined : isSought(messageId);
  const isUser = user === undefined ? undefined : isSought(user);
  return (line) => {
    if (destination !== undefined && line.destination !== destination) return false;
    if (failed === true && line.kind === 'attempt' && line.outcome === 'delivered') return false;
    // The events of a bundle are not known here.
    if (line.kind === 'bundle-deferred') return isMessage === undefined && isUser === undefined;
    return isMessage?.(line.messageId) !== false && isUser?.(line.user) !== false;
  };
}

/** Reads the topic `attempts` in pieces: what was written since a time, and then what follows. */
export class AttemptReader {
  readonly #kafka: KafkaClient;
  readonly #topic: string;
  readonly #selection: AttemptSelection;
  readonly #isSelected: (line: AttemptLine) => boolean;
  /** By partition: the next offset to read. */
  #next: ReadonlyMap<number, number> | undefined;

  constructor(kafka: KafkaClient, topic: string, selection: AttemptSelection) {
    this.#kafka = kafka;
    this.#topic = topic;
    this.#selection = selection;
    this.#isSelected = selecting(selection);
  }

  /**
   * The selected lines since then, or since the previous call; those of one event in order.
   * @throws PostriderError `kafka-unavailable`, `not-found`
   */
  async *read(sinceMs: number): AsyncGenerator<AttemptLine, void, undefined> {
    const ranges = await this.#advance(sinceMs);
    for await (const { value } of readRange(this.#kafka, { topic: this.#topic, ranges })) {
      for (const line of decodeAttemptLines(value)) {
        if (Date.parse(line.at) >= sinceMs && this.#isSelected(line)) yield line;
      }
    }
  }

  /** Leaves out what is written now: what is read next comes later, whatever clocks say. */
  async skip(): Promise<void> {
    await this.#advance(0);
  }

  async #advance(sinceMs: number): Promise<OffsetRange[]> {
    const ranges = await this.#ranges(sinceMs);
    this.#next = new Map(ranges.map(({ partition, end }) => [partition, end]));
    return ranges;
  }

  async #ranges(sinceMs: number): Promise<OffsetRange[]> {
    const admin = await openAdmin(this.#kafka);
    try {
      const kept = await admin.offsets(this.#topic);
      const since = this.#next ?? new Map((await admin.offsetsAt(this.#topic, sinceMs)).entries());
      const only = this.#partition(kept.length);
      return kept
        .filter(({ partition }) => only === undefined || partition === only)
        .map(({ partition, start, end }) => ({
          partition,
          start: Math.max(start, since.get(partition) ?? start),
          end,
        }));
    } finally {
      await admin.close();
    }
  }

  #partition(partitions: number): number | undefined {
    const { destination, user } = this.#selection;
    if (destination === undefined || user === undefined) return undefined;
    return partitionOf(deliveryKey(destination, writable(user)), partitions);
  }
}

/** The newest lines, of which there may be millions. */
export class NewestLines {
  readonly #most: number;
  #lines: AttemptLine[] = [];
  seen = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(line: AttemptLine): void {
    this.seen += 1;
    this.#lines.push(line);
    if (this.#lines.length >= 2 * this.#most + 1_000) this.#lines = this.sorted();
  }

  /** Oldest first; of the same time in order of arrival. */
  sorted(): AttemptLine[] {
    return this.#lines.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)).slice(-this.#most);
  }
}
