import { setImmediate as turn } from 'node:timers/promises';
import { Committer } from '../../src/kafka/consume/committer.ts';
import type { ConsumedRecord } from '../../src/kafka/consume/consumed-record.ts';
import type { PartitionOffset } from '../../src/kafka/consume/consumer-session.ts';
import { FetchedBatch } from '../../src/kafka/kafkajs/fetched-batch.ts';
import { FetchedRecord } from '../../src/kafka/kafkajs/fetched-record.ts';
import { Intake } from '../../src/kafka/consume/intake.ts';
import { lookUpPositions } from '../../src/kafka/consume/positions.ts';
import type { TopicPartition } from '../../src/kafka/record.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';

interface Entry {
  readonly offset: number;
  readonly isMarker: boolean;
}

/** What the broker holds of a partition. */
export class ModelLog {
  entries: Entry[] = [];
  earliest = 0;
  end = 0;
  committed = -1;

  append(isMarker: boolean = false): void {
    this.entries.push({ offset: this.end, isMarker });
    this.end += 1;
  }

  /** Offsets that no record has. */
  skip(count: number): void {
    this.end += count;
  }

  retainFrom(earliest: number): void {
    this.earliest = Math.min(Math.max(earliest, this.earliest), this.end);
    this.entries = this.entries.filter(({ offset }) => offset >= this.earliest);
  }

  /** Deleted and made again: the broker forgets the group's offsets too. */
  makeAgain(): void {
    this.entries = [];
    this.earliest = 0;
    this.end = 0;
    this.committed = -1;
  }
}

interface Position {
  resolved: number | undefined;
  pendingSeek: number | undefined;
}

/** An entry of a batch that waits in kafkajs's queue for its handler. */
interface Queued {
  readonly partition: number;
  readonly fetchedOffset: number;
  readonly entries: readonly Entry[];
}

export const topic = 'topic';

/**
 * One topic, and kafkajs as a member of a group that reads it: its own positions, its pending seeks
 * and its queue of batches, which a rebalance does not empty. Each method is one step.
 */
export class KafkajsModel {
  readonly logs: ModelLog[];
  readonly intake: Intake;
  readonly committer: Committer;
  readonly received: ConsumedRecord[] = [];
  readonly lost: number[] = [];
  readonly paused: Set<number> = new Set<number>();
  dropped = 0;
  private readonly positions = new Map<number, Position>();
  private queue: Queued[] = [];
  private assigned: readonly number[] = [];

  constructor(partitions: number, windowRecords: number = 1_000) {
    this.logs = Array.from({ length: partitions }, () => new ModelLog());
    this.intake = new Intake({
      control: {
        seek: ({ partition }, offset) => {
          this.at(partition).pendingSeek = offset;
        },
        pause: ({ partition }) => this.paused.add(partition),
        resume: ({ partition }) => this.paused.delete(partition),
      },
      lookUp: (owned) => lookUpPositions(this, 'group', owned),
      limitsOf: () => ({ records: windowRecords, bytes: 1e9 }),
      onRecords: (records) => {
        this.received.push(...records);
      },
      onAssigned: () => undefined,
      onLost: (lost: TopicPartition[]) => {
        this.lost.push(...lost.map(({ partition }) => partition));
      },
      onPlaced: () => void this.committer.commit(),
      onDropped: () => {
        this.dropped += 1;
      },
    });
    this.committer = new Committer({
      clock: systemClock,
      log: silentLogger,
      owned: () => this.intake.owned(),
      find: (name, partition) => this.intake.find(name, partition),
      send: (offsets) => this.commit(offsets),
      held: () => this.committed(),
      onMoved: (partition) => {
        this.intake.reposition(partition);
      },
    });
  }

  log(partition: number): ModelLog {
    const log = this.logs[partition];
    if (log === undefined) throw new Error(`no partition ${partition}`);
    return log;
  }

  /** What the committed offset and the range of offsets are, as an admin connection tells. */
  committed(): Promise<Map<string, Map<number, number>>> {
    return Promise.resolve(
      new Map([[topic, new Map(this.logs.map((log, p) => [p, log.committed]))]]),
    );
  }

  ranges(): Promise<Map<number, { earliest: number; end: number }>> {
    return Promise.resolve(
      new Map(this.logs.map(({ earliest, end }, p) => [p, { earliest, end }])),
    );
  }

  /** A rebalance: kafkajs forgets its positions, but not its seeks, its pauses and its queue. */
  join(partitions: readonly number[]): void {
    this.assigned = partitions;
    for (const position of this.positions.values()) position.resolved = undefined;
    this.intake.onJoin(partitions.map((partition) => ({ topic, partition })));
  }

  /** Lets everything happen that was only waiting for an answer of the broker. */
  async settle(): Promise<void> {
    await turn();
    await turn();
  }

  fetch(partition: number, count: number): void {
    if (!this.assigned.includes(partition) || this.paused.has(partition)) return;
    if (this.queue.some((queued) => queued.partition === partition)) return;
    const log = this.log(partition);
    const position = this.at(partition);
    position.resolved = position.pendingSeek ?? position.resolved;
    position.pendingSeek = undefined;
    position.resolved ??= log.committed >= 0 ? log.committed : log.earliest;
    const fetchedOffset = position.resolved;
    if (fetchedOffset < log.earliest || fetchedOffset > log.end) {
      log.committed = -2;
      position.resolved = undefined;
      return;
    }
    const entries = log.entries.filter(({ offset }) => offset >= fetchedOffset).slice(0, count);
    if (entries.length > 0) this.queue.push({ partition, fetchedOffset, entries });
  }

  /** The handler gets the oldest batch of the queue. */
  handle(): void {
    const queued = this.queue.shift();
    if (queued === undefined) return;
    const { partition, fetchedOffset, entries } = queued;
    const position = this.at(partition);
    const highWatermark = this.log(partition).end;
    const context = { producerId: '-1', inTransaction: false };
    const part = {
      partition,
      highWatermark: String(highWatermark),
      lastOffset: entries.at(-1)?.offset,
      messages: entries.map(
        ({ offset, isMarker }) => new FetchedRecord(offset, 0, null, null, {}, context, isMarker),
      ),
    };
    const batch = new FetchedBatch(topic, fetchedOffset, part, {
      hasSeekOffset: () => position.pendingSeek !== undefined,
      resolveOffset: ({ offset }) => {
        position.resolved = Number(offset) + 1;
      },
    });
    this.intake.onBatch(batch);
  }

  private commit(offsets: readonly PartitionOffset[]): Promise<void> {
    for (const { partition, offset } of offsets) this.log(partition).committed = offset;
    this.committer.committed(offsets);
    return Promise.resolve();
  }

  private at(partition: number): Position {
    const known = this.positions.get(partition);
    if (known !== undefined) return known;
    const position = { resolved: undefined, pendingSeek: undefined };
    this.positions.set(partition, position);
    return position;
  }
}
