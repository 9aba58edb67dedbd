import { readRejected } from '../dead-letter/rejected.ts';
import { userOf } from '../event/envelope.ts';
import { isSought, writable } from '../event/sought.ts';
import { derivedMessageId } from '../event/parse-call.ts';
import { withoutByteOrderMark } from '../event/read-json.ts';
import { textFieldIn } from '../event/text-field.ts';
import { partitionOf } from '../kafka/produce/partitioner.ts';
import { ByteWriter } from '../kafka/protocol/fields.ts';
import type { IncomingRecord } from '../kafka/record.ts';
import type { OwnSources } from '../resources/config/config-history.ts';
import { CallHash } from '../router/call-hash.ts';
import { Duplicates } from '../router/duplicates.ts';
import {
  readCall,
  type NotYetReadable,
  type ReadCall,
  type Unreadable,
} from '../router/read-call.ts';
import type { Schemas } from '../schemas/schemas.ts';
import { schemaIdOf } from '../schemas/registered-schema.ts';
import { waitAtMost } from '../ops/wait.ts';
import type { Topology } from '../topology.ts';
import type { FoundCall, FoundRejected, Place, WholeCall } from './evidence.ts';
import { looks, type Look } from './sought-id.ts';
import type { TopicReader } from './topic-reader.ts';

export interface Question {
  readonly messageId: string;
  /** Undefined: all partitions are read until the call is found. */
  readonly user: string | undefined;
  /** Older records are not read. */
  readonly sinceMs: number | undefined;
  readonly dedupeWindowMs: number;
  /** Only calls of this destination's sources count, and none that was rejected; without it, all do. */
  readonly destinationId?: string | undefined;
}

export interface FoundRecords {
  readonly calls: readonly FoundCall[];
  readonly first: WholeCall | undefined;
  readonly rejected: readonly Omit<FoundRejected, 'sentAgain'>[];
}

interface Deps {
  readonly reader: TopicReader;
  readonly topology: Topology;
  readonly schemas: Schemas;
  readonly nowMs: number;
  /** By topic and partition: the offset that the router reads next. */
  readonly routed: ReadonlyMap<string, readonly number[]>;
  /** The sources of the calls that count; undefined: all. */
  readonly ownSources: OwnSources | undefined;
}

const minute = 60_000;
/** Newest first, because most questions are about recent events. */
const stepsMs = [5, 15, 30, 60, 6 * 60, 24 * 60].map((minutes) => minutes * minute);
const schemaMs = 5_000;
/** The most ids that are looked for in one partition. */
const mostIds = 1_024;

/** The records of calls with this id, as they came in, and of those that were rejected. */
export async function findCalls(deps: Deps, question: Question): Promise<FoundRecords> {
  const own = await atItsPlace(deps, question.messageId);
  if (own !== undefined) {
    const since = { ...question, sinceMs: own.timestampMs };
    const { rejected } = sort(deps, question, await rejectedSince(deps, since));
    return { ...callsOf(deps, question, [own]), rejected };
  }
  for (const look of looks) {
    const found = await newestFirst(deps, question, look);
    const isFound = found.calls.length > 0 || found.rejected.length > 0;
    // Where everything was unpacked, another look finds no more.
    if (isFound || deps.reader.isThorough) return found;
  }
  return nothing;
}

const nothing: FoundRecords = { calls: [], first: undefined, rejected: [] };

/** Goes back until the call is found, and then as far as the call that it may repeat. */
async function newestFirst(deps: Deps, question: Question, look: Look): Promise<FoundRecords> {
  const { nowMs } = deps;
  const { sinceMs: leastMs = -Infinity, dedupeWindowMs } = question;
  let untilMs: number | undefined = undefined;
  for (const stepMs of [...stepsMs, Infinity]) {
    const sinceMs = Math.max(nowMs - stepMs, leastMs);
    const found = await read(deps, question, { sinceMs, untilMs }, look);
    const sorted = sort(deps, question, found);
    const firstMs = [...sorted.calls, ...sorted.rejected][0]?.place.timeMs;
    if (firstMs !== undefined) {
      const before = { sinceMs: firstMs - dedupeWindowMs, untilMs: Math.min(firstMs, sinceMs) };
      const isLacking = before.sinceMs < sinceMs && sinceMs > leastMs;
      const older = isLacking ? await read(deps, question, before, look) : [];
      return older.length === 0 ? sorted : sort(deps, question, [...older, ...found]);
    }
    if (sinceMs <= leastMs) return nothing;
    untilMs = sinceMs;
  }
  return nothing;
}

async function read(
  { reader, topology, schemas }: Deps,
  { messageId, user }: Question,
  { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number | undefined },
  look: Look,
): Promise<readonly IncomingRecord[]> {
  const topics = [...topology.ingestTopics, topology.topics.ingestRejected].filter((topic) =>
    reader.has(topic),
  );
  const isAbout = mayBeAbout(messageId);
  const found = await Promise.all(
    topics.map(async (topic) => {
      const partitions =
        user === undefined
          ? undefined
          : new Set([partitionOf(writable(user), await reader.partitionCount(topic))]);
      const since = Number.isFinite(sinceMs) ? sinceMs : undefined;
      return reader.find({ topic, partitions, sinceMs: since, untilMs }, isAbout, look);
    }),
  );
  const records = found.flat();
  await settle(schemas, records);
  return records;
}

/** Loads the schemas that the records name, if the registry returns them in time. */
export async function settle(schemas: Schemas, records: readonly IncomingRecord[]): Promise<void> {
  const ids = new Set(records.map(({ value }) => schemaIdOf(value)));
  ids.delete(undefined);
  const all = Promise.all([...ids].map((id) => schemas.settled(id ?? 0)));
  if (ids.size > 0) await waitAtMost(schemaMs, all);
}

async function rejectedSince(
  { reader, topology }: Deps,
  { messageId, sinceMs }: Question,
): Promise<readonly IncomingRecord[]> {
  const topic = topology.topics.ingestRejected;
  return reader.find({ topic, sinceMs }, mayBeAbout(messageId));
}

/** The id of a call without one states its record's place. */
async function atItsPlace(
  { reader, topology }: Deps,
  messageId: string,
): Promise<IncomingRecord | undefined> {
  const [, topic = '', partition, offset] = /^(.+):(\d{1,9}):(\d{1,15})$/.exec(messageId) ?? [];
  if (!topology.ingestTopics.includes(topic)) return undefined;
  const start = Number(offset);
  const kept = (await reader.ranges({ topic, partitions: new Set([Number(partition)]) }))[0];
  if (kept === undefined || start < kept.start || start >= kept.end) return undefined;
  const range = { partition: Number(partition), start, end: start + 1 };
  let found: IncomingRecord | undefined;
  await reader.each(topic, [range], (record) => (found ??= record));
  return found;
}

function sort(deps: Deps, question: Question, records: readonly IncomingRecord[]): FoundRecords {
  const { ingestRejected } = deps.topology.topics;
  const isRejected = ({ topic }: IncomingRecord): boolean => topic === ingestRejected;
  const rejected = deps.ownSources === undefined ? records.filter(isRejected) : [];
  return {
    ...callsOf(
      deps,
      question,
      records.filter((record) => !isRejected(record)),
    ),
    rejected: rejected.map((record) => {
      const { reason, detail, origin } = readRejected(record);
      return { place: placed(record), reason, detail, origin };
    }),
  };
}

function callsOf(
  { schemas, topology, routed, ownSources }: Deps,
  { messageId, user, dedupeWindowMs }: Question,
  records: readonly IncomingRecord[],
): Pick<FoundRecords, 'calls' | 'first'> {
  const duplicates = new Duplicates<undefined>({
    windowMs: dedupeWindowMs,
    mostIds,
    onPushedOut: () => undefined,
  });
  const originals = new Map<string, Place>();
  const isWanted = isSought(messageId);
  let first: WholeCall | undefined;
  const calls = records
    .toSorted((a, b) => a.timestampMs - b.timestampMs || a.offset - b.offset)
    .flatMap((record) => {
      const place = placed(record);
      const isAhead = (routed.get(record.topic)?.[record.partition] ?? -1) <= record.offset;
      const common = { place, isAhead, unreadable: undefined, duplicateOf: undefined };
      const read = readCall(record, schemas, topology.topics.ingestAudience);
      if (read.awaitedSchema !== undefined || read.rejection !== undefined) {
        // Without a readable call, the user is not known.
        const unreadable = unreadableHere(read);
        const rejection = unreadable === undefined ? read.rejection : undefined;
        return { ...common, isRead: false, isSentAgain: false, unreadable, rejection };
      }
      if (!isWanted(read.call.messageId)) return [];
      if (user !== undefined && !isSought(user)(userOf(read.call))) return [];
      // Another source may have sent another call with the same id, and earlier.
      if (ownSources !== undefined && !isFrom(ownSources, read)) return [];
      const duplicateOf = repeated(duplicates, originals, record, read);
      first ??= { place, read };
      const isSentAgain = read.arrival.redrivenMs !== undefined;
      return { ...common, isRead: true, isSentAgain, rejection: undefined, duplicateOf };
    });
  return { calls, first };
}

function isFrom({ ids, writeKeys }: OwnSources, { audience, writeKey }: ReadCall): boolean {
  return audience === undefined ? writeKeys.has(writeKey) : ids.has(audience.sourceId);
}

const hash = new CallHash();

/**
 * The call that it repeats, by the router's own rule. Assumes that a destination wanted the first call,
 * because unwanted calls are not remembered.
 */
function repeated(
  duplicates: Duplicates<undefined>,
  originals: Map<string, Place>,
  record: IncomingRecord,
  read: ReadCall,
): Place | undefined {
  const source = read.audience?.sourceId ?? read.writeKey;
  hash.of(source, read.writeKey, read.call);
  const place = `${hash.text} ${record.topic} ${record.partition}`;
  const verdict = duplicates.judge(record, source, read, undefined);
  if (verdict === 'duplicate') return originals.get(place);
  if (verdict !== undefined && verdict !== 'waiting') verdict.acknowledge();
  originals.set(place, placed(record));
  return undefined;
}

/**
 * A schema that is missing here says nothing about the router, which may have a registry. If it has none either,
 * the call is in `ingest.rejected`.
 */
function unreadableHere({
  rejection,
  awaitedSchema,
}: Unreadable | NotYetReadable): string | undefined {
  if (awaitedSchema !== undefined)
    return `it cannot be read here: the schema registry has not answered with schema ${awaitedSchema}`;
  if (rejection.reason !== 'no-registry') return undefined;
  return 'it cannot be read here: its value names a schema, and SCHEMA_REGISTRY_URL is not set';
}

/** Tells whether a record is of a call with this id, or of one that cannot be read here and names it. */
function mayBeAbout(messageId: string): (record: IncomingRecord) => boolean {
  const asJson = JSON.stringify(messageId);
  const forms = [asJson, ...typedForms(writable(messageId))];
  const isWanted = isSought(messageId);
  return (record) => {
    const { value } = record;
    if (isWanted(derivedMessageId(record))) return true;
    if (value === null) return false;
    if (schemaIdOf(value) !== undefined) return forms.some((form) => value.includes(form));
    const id = textFieldIn(value, 'messageId');
    if (id !== undefined) return isWanted(id);
    const text = value.toString();
    return idsIn(text)?.some(isWanted) ?? text.includes(asJson);
  };
}

/** A text as Protobuf and Avro write it: behind its length in bytes, which Avro doubles. */
function typedForms(text: string): readonly Buffer[] {
  const bytes = Buffer.from(text);
  return [bytes.length, 2 * bytes.length].map(
    (length) => new ByteWriter(bytes.length + 5).uvarint(length).bytes(bytes).buffer,
  );
}

interface Named {
  readonly messageId?: unknown;
}

/** The ids in a call, or in calls that were rejected together; undefined if the text is neither. */
function idsIn(text: string): readonly unknown[] | undefined {
  try {
    const json = JSON.parse(withoutByteOrderMark(text)) as Named & { readonly batch?: Named[] };
    if (Array.isArray(json)) return undefined;
    const all = [json, ...(Array.isArray(json.batch) ? json.batch : [])];
    return all.map(({ messageId }) =>
      typeof messageId === 'number' ? String(messageId) : messageId,
    );
  } catch {
    return undefined;
  }
}

function placed({ topic, partition, offset, timestampMs: timeMs }: IncomingRecord): Place {
  return { topic, partition, offset, timeMs };
}
