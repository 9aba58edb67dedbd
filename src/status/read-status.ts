import {
  decodeStatus,
  statusRefreshMs,
  type DestinationStatus,
  type StatusRecord,
  type WorkerStatus,
} from '../event/destination-status.ts';
import type { Said } from '../event/judged-view.ts';
import { withAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { rangesWithin } from '../kafka/offset-ranges.ts';
import { readRange } from '../kafka/read-range.ts';

/** For records that wait for a fuller batch, and for clocks that differ a little. */
const slackMs = 60_000;

/**
 * Reads the last minutes of the topic `destination-status`. Every report that holds was written again within
 * that time.
 * @throws PostriderError `kafka-unavailable`, `not-found`
 */
export async function readStatus(kafka: KafkaClient, topic: string, nowMs: number): Promise<Said> {
  const sinceMs = nowMs - statusRefreshMs - slackMs;
  const ranges = await withAdmin(kafka, (admin) => rangesWithin(admin, topic, { sinceMs }));
  // Only the newest record of each key is parsed, because most keys have several.
  const newest = new Map<string, Buffer>();
  for await (const { key, value } of readRange(kafka, { topic, ranges })) {
    if (key === null) continue;
    if (value === null) newest.delete(key.toString());
    else newest.set(key.toString(), value);
  }
  const records = Array.from(newest.values(), decodeStatus).filter((each) => each !== undefined);
  return saidNow(records, nowMs);
}

/** The reports in the newest record of each key, without those of workers that have expired. */
export function saidNow(records: readonly StatusRecord[], nowMs: number): Said {
  const all = records.filter((record): record is WorkerStatus => record.kind === 'worker');
  const workers = all.filter(({ expiresAt }) => Date.parse(expiresAt) > nowMs);
  const living = new Set(workers.map(({ worker }) => worker));
  const destinations = new Map<string, DestinationStatus[]>();
  for (const record of records) {
    if (record.kind !== 'destination' || !living.has(record.worker)) continue;
    const known = destinations.get(record.destination);
    if (known === undefined) destinations.set(record.destination, [record]);
    else known.push(record);
  }
  const heard = all
    .map(({ at }) => at)
    .sort()
    .at(-1);
  return { workers, destinations, heard };
}
