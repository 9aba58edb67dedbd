import { decodePause } from '../../../src/resources/pauses/pause.ts';
import type { SimulatedDeployment } from './deployment.ts';
import { committedRecords, eventsIn, type LoggedEvent } from './read-log.ts';

/** A record of an event that was given up, or is kept for a paused destination. */
export interface LoggedLetter {
  /** `destination message`. */
  readonly name: string;
  readonly destinationId: string;
  readonly messageId: string;
  /** `topic:partition:offset`, as marks name it. */
  readonly place: string;
  readonly isKept: boolean;
  readonly atMs: number;
  /** Since then readers may see it: all in-sync replicas have it, or those that lacked it are no longer in sync. */
  readonly visibleMs: number;
}

interface Told {
  readonly upTo: number;
  readonly atMs: number;
}

export interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** What operators' commands have sent again, by the logs. */
export class SentAgain {
  readonly letters: LoggedLetter[] = [];
  /** When copies were written, by `destination message`. */
  readonly copiesMs: Map<string, number[]> = new Map();
  readonly #deployment: SimulatedDeployment;
  readonly #read = new Map<string, number>();
  /** When readers were told of more, by `topic/partition`, and up to where. */
  readonly #told = new Map<string, Told[]>();

  constructor(deployment: SimulatedDeployment) {
    this.#deployment = deployment;
    const { brokers, time, topology } = deployment;
    const { deadLetter, paused } = topology.topics;
    for (const topic of [deadLetter, paused])
      for (const partition of brokers.topics.get(topic)?.partitions ?? []) {
        const told: Told[] = [];
        this.#told.set(`${topic}/${partition.index}`, told);
        partition.readers.add(() => {
          told.push({ upTo: partition.highWatermark, atMs: time.nowMs });
        });
      }
  }

  /** Reads what has been written since. */
  readLogs(): void {
    const { delivery, deadLetter, paused } = this.#deployment.topology.topics;
    const dedicated = [...this.#deployment.brokers.topics.keys()].filter(
      (topic) => this.#deployment.topology.dedicatedDestination(topic) !== undefined,
    );
    for (const topic of [delivery, ...dedicated])
      this.#readTopic(topic, (name, { envelope, timestampMs }) => {
        // What a worker sends to the home of a rate limit comes from a retry topic.
        const isByCommand = envelope.redrivenMs !== undefined && envelope.dueMs === undefined;
        if (isByCommand) add(this.copiesMs, name, timestampMs);
      });
    for (const topic of [deadLetter, paused])
      this.#readTopic(topic, (name, { envelope, offset, timestampMs: atMs }, partition) => {
        const place = `${topic}:${partition}:${offset}`;
        const { destinationId, messageId } = envelope;
        const told = this.#told.get(`${topic}/${partition}`);
        const shown = told?.find((each) => each.upTo > offset && each.atMs >= atMs);
        this.letters.push({
          name,
          destinationId,
          messageId,
          place,
          isKept: topic === paused,
          atMs,
          visibleMs: shown?.atMs ?? atMs,
        });
      });
  }

  /** When the event was last sent again; epoch milliseconds. */
  lastMs(name: string): number | undefined {
    return this.copiesMs.get(name)?.at(-1);
  }

  /** When letters were marked as sent, by their places. */
  marksMs(): Map<string, number[]> {
    const marks = new Map<string, number[]>();
    for (const { key, timestampMs } of this.#recordsOf('redrives'))
      add(marks, String(key), timestampMs);
    return marks;
  }

  /** By destination: when it was paused, by the log. */
  pauses(): Map<string, Span[]> {
    const spans = new Map<string, Span[]>();
    const open = new Map<string, number>();
    for (const { key, value, timestampMs } of this.#recordsOf('pauses')) {
      const id = String(key);
      const fromMs = open.get(id);
      if (decodePause(value) !== undefined) open.set(id, fromMs ?? timestampMs);
      else if (fromMs !== undefined) {
        add(spans, id, { fromMs, untilMs: timestampMs });
        open.delete(id);
      }
    }
    for (const [id, fromMs] of open) add(spans, id, { fromMs, untilMs: Infinity });
    return spans;
  }

  #recordsOf(kind: 'redrives' | 'pauses'): ReturnType<typeof committedRecords> {
    const { brokers, topology } = this.#deployment;
    const { partitions = [] } = brokers.topics.get(topology.topics[kind]) ?? {};
    return partitions.flatMap((partition) => committedRecords(partition));
  }

  #readTopic(
    topic: string,
    found: (name: string, event: LoggedEvent, partition: number) => void,
  ): void {
    for (const partition of this.#deployment.brokers.topics.get(topic)?.partitions ?? []) {
      const { index, highWatermark } = partition;
      const place = `${topic}/${index}`;
      const from = this.#read.get(place) ?? 0;
      if (highWatermark <= from) continue;
      this.#read.set(place, highWatermark);
      for (const event of eventsIn(partition, from))
        if (event.offset < highWatermark)
          found(`${event.envelope.destinationId} ${event.envelope.messageId}`, event, index);
    }
  }
}

function add<T>(lists: Map<string, T[]>, name: string, item: T): void {
  const known = lists.get(name);
  if (known === undefined) lists.set(name, [item]);
  else known.push(item);
}
