import { withAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { readRange } from '../kafka/read-range.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { redriveKey, type Letter } from './letter.ts';

/** When a letter was sent again, and by which run. */
export interface Redrive {
  readonly time: string;
  readonly redrive: string;
}

/** By `redriveKey`: the letters of one topic that were sent again. */
export type Redrives = ReadonlyMap<string, Redrive>;

/** Everything that was in the topic `redrives` when this was called. */
export async function loadRedrives(
  kafka: KafkaClient,
  topic: string,
  letterTopic: string,
): Promise<Redrives> {
  const redrives = new Map<string, Redrive>();
  const ranges = await withAdmin(kafka, (admin) => admin.offsets(topic));
  for await (const { key, value } of readRange(kafka, { topic, ranges })) {
    const place = key?.toString() ?? '';
    const redrive = decode(value);
    if (place.startsWith(`${letterTopic}:`) && redrive !== undefined) redrives.set(place, redrive);
  }
  return redrives;
}

/** Written once the letter's copy is safe. A crash between the two sends it twice, never not at all. */
export function redriveRecord(topic: string, letter: Letter, redrive: Redrive): OutgoingRecord {
  return { topic, key: redriveKey(letter), value: JSON.stringify(redrive) };
}

function decode(value: Buffer | null): Redrive | undefined {
  try {
    const json: unknown = JSON.parse(value?.toString() ?? '');
    if (typeof json !== 'object' || json === null) return undefined;
    const { time, redrive } = json as Record<string, unknown>;
    return typeof time === 'string' && typeof redrive === 'string' ? { time, redrive } : undefined;
  } catch {
    return undefined;
  }
}
