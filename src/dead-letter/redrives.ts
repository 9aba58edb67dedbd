import { normalizeTimestamp } from '../event/timestamp.ts';
import { withAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { readRange } from '../kafka/read-range.ts';
import type { IncomingRecord, OutgoingRecord } from '../kafka/record.ts';
import { placeText, type Letter, type Place } from './letter.ts';

/** When a letter was last sent again, and by which run. */
export interface Redrive {
  /** ISO 8601, UTC, with milliseconds. */
  readonly time: string;
  readonly redrive: string;
}

/** The stored form of a redrive, under `<topic>:<partition>:<offset>` of the letter. */
interface Mark extends Redrive {
  /** The letter's own time, because a topic that was created again has other letters at the same places. */
  readonly letterMs: number;
}

/** The letters of one topic that were sent again. */
export class Redrives {
  readonly #topic: string;
  readonly #marks = new Map<string, Mark>();

  constructor(letterTopic: string) {
    this.#topic = letterTopic;
  }

  /** The last one of this letter. */
  of({ record }: Letter): Redrive | undefined {
    return this.ofPlace(record);
  }

  /** The last one of the letter there. */
  ofPlace(place: Place & Pick<IncomingRecord, 'timestampMs'>): Redrive | undefined {
    const mark = this.#marks.get(placeText(place));
    return mark?.letterMs === place.timestampMs ? mark : undefined;
  }

  /** Takes a record of the topic `redrives` into account; the latest one of a letter wins. */
  collect({ key, value }: Pick<IncomingRecord, 'key' | 'value'>): void {
    const name = key?.toString() ?? '';
    const mark = decode(value);
    if (!name.startsWith(`${this.#topic}:`) || mark === undefined) return;
    const place = name.slice(this.#topic.length + 1);
    // Since partitions were added, an older one may lie in another partition, and be read later.
    const before = this.#marks.get(place);
    if (before === undefined || before.letterMs !== mark.letterMs || before.time <= mark.time)
      this.#marks.set(place, mark);
  }
}

/** Everything that was in the topic `redrives` when this was called. */
export async function loadRedrives(
  kafka: KafkaClient,
  topic: string,
  letterTopic: string,
): Promise<Redrives> {
  const redrives = new Redrives(letterTopic);
  const ranges = await withAdmin(kafka, (admin) => admin.offsets(topic));
  for await (const record of readRange(kafka, { topic, ranges })) redrives.collect(record);
  return redrives;
}

/**
 * Written once the letter's copy is acknowledged. After a crash between the two, the letter is sent twice,
 * but never lost.
 */
export function redriveRecord(topic: string, { record }: Letter, redrive: Redrive): OutgoingRecord {
  const mark: Mark = { ...redrive, letterMs: record.timestampMs };
  return { topic, key: `${record.topic}:${placeText(record)}`, value: JSON.stringify(mark) };
}

function decode(value: Buffer | null): Mark | undefined {
  try {
    const json: unknown = JSON.parse(value?.toString() ?? '');
    if (typeof json !== 'object' || json === null) return undefined;
    const { time, redrive, letterMs } = json as Record<string, unknown>;
    const isMark =
      typeof time === 'string' &&
      normalizeTimestamp(time) === time &&
      typeof redrive === 'string' &&
      typeof letterMs === 'number';
    return isMark ? { time, redrive, letterMs } : undefined;
  } catch {
    return undefined;
  }
}
