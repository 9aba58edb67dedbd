import { withAdmin } from '../../kafka/admin.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import { readRange, writtenRanges } from '../../kafka/read-range.ts';
import type { IncomingRecord, TopicPartition } from '../../kafka/record.ts';
import { readCall, type ReadCall } from '../../router/read-call.ts';
import type { Schemas } from '../../schemas/schemas.ts';
import type { Topology } from '../../topology.ts';
import { settle } from '../find-calls.ts';
import type { PlacedCall } from './preview.ts';

/** Records are read in steps back from the end, each twice as long as the one before, until this many were read. */
const mostRecords = 2_000_000;

/** A partition of an ingest topic. */
export interface IngestLog extends TopicPartition {
  readonly start: number;
  readonly end: number;
  /** Its records between two offsets, in order; some may be missing. */
  read(start: number, end: number): AsyncIterable<IncomingRecord>;
}

/**
 * The newest calls of a source, oldest first, by the time of their records.
 * @param callOf the call of a record; undefined: it has none, or one of another source
 * @returns fewer than `count` if there are no more, or none of them among the newest two million records
 */
export async function lastCalls(
  ingest: readonly IngestLog[],
  callOf: (record: IncomingRecord) => Promise<ReadCall | undefined>,
  count: number,
): Promise<readonly PlacedCall[]> {
  const logs = ingest.map((log): ReadLog => ({ log, from: log.end, fromMs: Infinity }));
  let calls: readonly FoundCall[] = [];
  let records = 0;
  for (let step = count; ; step *= 2) {
    const open = logs.filter(({ log, from }) => from > log.start);
    // Unread calls of an open log are older than those that were read of it, but perhaps newer than others.
    const sinceMs = open.reduce((latest, { fromMs }) => Math.max(latest, fromMs), -Infinity);
    const known = calls.filter(({ place }) => place.timestampMs > sinceMs).length;
    if (known >= count || open.length === 0 || records >= mostRecords) return calls.map(placed);
    for (const each of open) {
      const end = each.from;
      each.from = Math.max(each.log.start, end - step);
      records += end - each.from;
      const older = await readBack(each, end, callOf, count);
      calls = [...older, ...calls].sort(byTime).slice(-count);
    }
  }
}

interface ReadLog {
  readonly log: IngestLog;
  /** The lowest offset that was read. */
  from: number;
  /** The time of the record there. */
  fromMs: number;
}

interface FoundCall {
  readonly place: Pick<IncomingRecord, 'topic' | 'partition' | 'offset' | 'timestampMs'>;
  readonly read: ReadCall;
}

/** The newest calls of the part that is read now. */
async function readBack(
  each: ReadLog,
  end: number,
  callOf: (record: IncomingRecord) => Promise<ReadCall | undefined>,
  most: number,
): Promise<readonly FoundCall[]> {
  let oldestMs: number | undefined;
  let found: FoundCall[] = [];
  for await (const record of each.log.read(each.from, end)) {
    const { topic, partition, offset, timestampMs } = record;
    oldestMs ??= timestampMs;
    const read = await callOf(record);
    if (read === undefined) continue;
    found.push({ place: { topic, partition, offset, timestampMs }, read });
    if (found.length >= 2 * most) found = found.slice(-most);
  }
  each.fromMs = oldestMs ?? each.fromMs;
  return found.slice(-most);
}

function byTime({ place: a }: FoundCall, { place: b }: FoundCall): number {
  if (a.timestampMs !== b.timestampMs) return a.timestampMs - b.timestampMs;
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  return a.partition - b.partition || a.offset - b.offset;
}

function placed({ place: { topic, partition, offset }, read }: FoundCall): PlacedCall {
  return { place: `${topic} ${partition}:${offset}`, read };
}

export interface LastCallsDeps {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly schemas: Schemas;
}

/**
 * The newest calls of a source in the ingest topics. Records that the router rejects are left out.
 * @param isOfSource whether a call is one of them
 */
export async function lastCallsInKafka(
  { kafka, topology, schemas }: LastCallsDeps,
  isOfSource: (read: ReadCall) => boolean,
  count: number,
): Promise<readonly PlacedCall[]> {
  const existing = new Set(await withAdmin(kafka, (admin) => admin.topicNames()));
  const topics = topology.ingestTopics.filter((topic) => existing.has(topic));
  const logs = await Promise.all(
    topics.map(async (topic) =>
      (await writtenRanges(kafka, topic)).map(({ partition, ...range }): IngestLog => {
        const read = (start: number, end: number): AsyncIterable<IncomingRecord> =>
          readRange(kafka, { topic, ranges: [{ partition, start, end }] });
        return { topic, partition, ...range, read };
      }),
    ),
  );
  const callOf = async (record: IncomingRecord): Promise<ReadCall | undefined> => {
    await settle(schemas, [record]);
    const read = readCall(record, schemas, topology.topics.ingestAudience);
    return 'call' in read && isOfSource(read) ? read : undefined;
  };
  return lastCalls(logs.flat(), callOf, count);
}
