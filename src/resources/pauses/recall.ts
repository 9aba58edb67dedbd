import { z } from 'zod';
import { isOf, isUid, type Identity, type WithUid } from '../../event/uid.ts';
import type { OutgoingRecord, TopicPartition } from '../../kafka/record.ts';

/**
 * An operator has mended an endpoint: what waits for its destination in the retry topics is due as soon as the lane takes
 * it, and not when it was to be. A record of the topic `pauses`, with the key `recalled:<id>`.
 *
 * Offsets say what waits, and not times: what fails again is written behind them, and waits as ever, whatever the clocks
 * of brokers say.
 */
export interface Recall extends WithUid {
  /** By retry topic: for each partition, the first offset that is not recalled. */
  readonly ends: RecallEnds;
}

export type RecallEnds = Readonly<Record<string, readonly number[]>>;

const schema = z.object({
  uid: z.exactOptional(z.string().refine(isUid)),
  ends: z.record(z.string(), z.array(z.number().int().nonnegative())),
});

/** Undefined removes it, because nothing that it is about is left. */
export function recallRecord(
  topic: string,
  { id, uid }: Identity,
  ends: RecallEnds | undefined,
): OutgoingRecord {
  const value = ends === undefined ? null : JSON.stringify({ uid, ends });
  return { topic, key: `recalled:${id}`, value };
}

/** Undefined for what is none, so events wait as ever. */
function decodeRecall(value: Buffer | null): Recall | undefined {
  try {
    return schema.parse(JSON.parse(value?.toString() ?? ''));
  } catch {
    return undefined;
  }
}

interface Waiting extends WithUid {
  readonly destinationId: string;
}

/** The recalls of operators that nobody has removed. A recall may be about records that were finished long ago. */
export class Recalls {
  readonly #byId = new Map<string, { readonly recall: Recall; readonly writtenMs: number }>();
  /** The furthest of all; undefined until somebody asks. */
  #furthest: Map<string, number[]> | undefined;

  /** @param writtenMs by Kafka's clock */
  apply(destinationId: string, value: Buffer | null, writtenMs: number): void {
    const recall = decodeRecall(value);
    this.#furthest = undefined;
    if (recall === undefined) this.#byId.delete(destinationId);
    else this.#byId.set(destinationId, { recall, writtenMs });
  }

  /** Tells whether this record of a retry topic, which holds events of the destination, is recalled. */
  covers(
    { destinationId, uid }: Waiting,
    { topic, partition, offset }: TopicPartition & { readonly offset: number },
  ): boolean {
    const recall = this.#byId.get(destinationId)?.recall;
    if (recall === undefined || !isOf({ uid }, recall)) return false;
    return offset < (recall.ends[topic]?.[partition] ?? 0);
  }

  /** The offset of the partition from which on nothing is recalled. */
  furthest({ topic, partition }: TopicPartition): number {
    this.#furthest ??= furthestOf([...this.#byId.values()].map(({ recall }) => recall));
    return this.#furthest.get(topic)?.[partition] ?? 0;
  }

  /** The destinations of those that were written before. */
  writtenBefore(timeMs: number): string[] {
    return [...this.#byId].flatMap(([id, { writtenMs }]) => (writtenMs < timeMs ? [id] : []));
  }

  ids(): Iterable<string> {
    return this.#byId.keys();
  }

  get size(): number {
    return this.#byId.size;
  }
}

function furthestOf(recalls: readonly Recall[]): Map<string, number[]> {
  const furthest = new Map<string, number[]>();
  for (const { ends } of recalls)
    for (const [topic, ofTopic] of Object.entries(ends)) {
      const known = furthest.get(topic) ?? [];
      furthest.set(topic, known);
      ofTopic.forEach((end, partition) => {
        known[partition] = Math.max(end, known[partition] ?? 0);
      });
    }
  return furthest;
}
