import {
  isUrgent,
  noneGivenUp,
  type Evidence,
  type JudgedView,
  type Said,
} from '../event/destination-health.ts';
import {
  decodeStatus,
  statusRefreshMs,
  type DestinationStatus,
  type StatusRecord,
  type WorkerStatus,
} from '../event/destination-status.ts';
import { decodeEnvelope, envelopeHeader } from '../event/envelope.ts';
import { decodeNotice, type Notice } from '../event/notice.ts';
import { identityText } from '../event/uid.ts';
import { withAdmin, type OffsetRange } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { offsetsIn, rangesWithin } from '../kafka/topic-progress.ts';
import { readRange } from '../kafka/read-range.ts';

/** For records that wait for a fuller batch, and for clocks that differ a little. */
const slackMs = 60_000;

/** Every report that holds was written again since then. */
export function reportsSinceMs(nowMs: number): number {
  return nowMs - statusRefreshMs - slackMs;
}

/**
 * Reads the last minutes of the topic `destination-status`.
 * @throws PostriderError `kafka-unavailable`, `not-found`
 */
export async function readStatus(kafka: KafkaClient, topic: string, nowMs: number): Promise<Said> {
  const sinceMs = reportsSinceMs(nowMs);
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

/**
 * The last notice about each destination, by its id.
 * @throws PostriderError `kafka-unavailable`, `not-found`
 */
export async function readNotices(
  kafka: KafkaClient,
  topic: string,
): Promise<ReadonlyMap<string, Notice>> {
  const notices = new Map<string, Notice>();
  for await (const { key, value } of readRange(kafka, { topic })) {
    const id = key?.toString() ?? '';
    const notice = decodeNotice(value);
    if (notice === undefined) notices.delete(id);
    else notices.set(id, notice);
  }
  return notices;
}

/** A restarted worker does not have the time since which a destination has failed; the notice has it. */
export function sinceNotice(view: JudgedView, notice: Notice | undefined): JudgedView {
  if (notice?.notice !== 'failing' || !isUrgent(view.state)) return view;
  return (view.since ?? '~') <= notice.since ? view : { ...view, since: notice.since };
}

/** Events that became dead letters in the last hour. */
export interface GivenUp {
  /** By `identityText`. */
  readonly byDestination: ReadonlyMap<string, Evidence['givenUp']>;
  /** There were more, which were not counted. */
  readonly isCut: boolean;
}

const hourMs = 3_600_000;
const justNowMs = 180_000;
/** Dead letters have bodies, and `--watch` reads them every two seconds. */
const mostRecords = 5_000;

/** @throws PostriderError `kafka-unavailable`, `not-found` */
export async function readGivenUp(
  kafka: KafkaClient,
  topic: string,
  nowMs: number,
): Promise<GivenUp> {
  const written = await withAdmin(kafka, (admin) =>
    rangesWithin(admin, topic, { sinceMs: nowMs - hourMs }),
  );
  const ranges = newestOf(written, mostRecords);
  const byDestination = new Map<string, Evidence['givenUp']>();
  for await (const { headers, timestampMs } of readRange(kafka, { topic, ranges })) {
    const header = headers[envelopeHeader];
    const envelope = header === undefined ? undefined : decodeEnvelope(header);
    if (envelope === undefined) continue;
    const whose = identityText({ id: envelope.destinationId, uid: envelope.uid });
    const { lastHour, justNow } = byDestination.get(whose) ?? noneGivenUp;
    const isNew = timestampMs >= nowMs - justNowMs;
    byDestination.set(whose, { lastHour: lastHour + 1, justNow: justNow + (isNew ? 1 : 0) });
  }
  return { byDestination, isCut: offsetsIn(ranges) < offsetsIn(written) };
}

/** The ends of the ranges, each in proportion to its length. */
function newestOf(ranges: readonly OffsetRange[], most: number): OffsetRange[] {
  const share = Math.min(1, most / Math.max(1, offsetsIn(ranges)));
  return ranges.map(({ partition, start, end }) => {
    return { partition, start: end - Math.floor((end - start) * share), end };
  });
}
