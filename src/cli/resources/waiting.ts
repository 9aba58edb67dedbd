import { decodeBundleHeader } from '../../delivery/bundle/format.ts';
import { PostriderError } from '../../errors.ts';
import { decodeAudienceRoute, chooseWriteKey, writeKeyHeader } from '../../event/headers.ts';
import { decodeEnvelope, envelopeHeader } from '../../event/envelope.ts';
import { maxBytesOf, parseCall } from '../../event/parse-call.ts';
import { withAdmin, type KafkaAdmin } from '../../kafka/admin.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import type { UnfinishedPart } from '../../kafka/consume/commit-metadata.ts';
import { offsetsIn } from '../../kafka/topic-progress.ts';
import { readRange } from '../../kafka/read-range.ts';
import type { IncomingRecord } from '../../kafka/record.ts';
import type { SteadyClock } from '../../ops/clock.ts';
import type { Source } from '../../resources/resource.ts';
import { schemaIdOf } from '../../schemas/registered-schema.ts';
import type { Topology } from '../../topology.ts';

/** The events or calls that wait for a destination or source. */
export interface Waiting {
  readonly count: number;
  /** False: the number is a lower bound. */
  readonly isAll: boolean;
}

/** By id, or why the numbers are not known. */
export type WaitingById = ReadonlyMap<string, Waiting> | { readonly unknown: string };

export interface WaitingOptions {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly clock: SteadyClock;
  /** Counting ends at this time of the steady clock. */
  readonly untilMs: number;
  readonly onProgress: (read: number, all: number) => void;
}

/**
 * Events in delivery and retry topics that no worker has finished.
 * @throws PostriderError `kafka-unavailable`
 */
export async function countEvents(
  options: WaitingOptions,
  ids: readonly string[],
): Promise<WaitingById> {
  const { kafka, topology } = options;
  return unlessRefused(async () => {
    const count = new Count(ids);
    const piles = await withAdmin(kafka, async (admin) => {
      const existing = await admin.topicNames(topology.prefix);
      for (const id of ids) {
        const { name } = topology.dedicatedTopic(id);
        if (!existing.includes(name)) continue;
        // All records of a dedicated topic are for this destination.
        const parts = await admin.unfinished(topology.dedicatedGroup(id), name);
        for (const part of parts) count.add(id, part.count);
      }
      const retries = existing.filter((name) => topology.retryTierMs(name) !== undefined);
      const expected = topology.retryTiersMs.map((tierMs) => topology.retryTopic(tierMs));
      const topics = new Set([topology.topics.delivery, ...expected, ...retries]);
      return pilesOf(admin, topology.groups.delivery, topics, existing);
    });
    await readPiles(options, piles, count, (record) => {
      const header = record.headers[envelopeHeader];
      if (header === undefined) return;
      const bundle = decodeBundleHeader(header);
      const id = bundle?.destinationId ?? decodeEnvelope(header)?.destinationId;
      if (id !== undefined) count.add(id, bundle?.events ?? 1);
    });
    return count.byId;
  });
}

/**
 * Calls in ingest topics that the router has not routed.
 * @throws PostriderError `kafka-unavailable`
 */
export async function countCalls(
  options: WaitingOptions,
  sources: readonly Source[],
): Promise<WaitingById> {
  const { kafka, topology } = options;
  const owners = new Map(
    sources.flatMap(({ id, writeKeys }) => writeKeys.map((writeKey) => [writeKey, id])),
  );
  return unlessRefused(async () => {
    const count = new Count(sources.map(({ id }) => id));
    const piles = await withAdmin(kafka, async (admin) => {
      const existing = await admin.topicNames();
      return pilesOf(admin, topology.groups.router, topology.ingestTopics, existing);
    });
    await readPiles(options, piles, count, (record) => {
      const isOfAudience = record.topic === topology.topics.ingestAudience;
      const route = isOfAudience ? decodeAudienceRoute(record.headers) : undefined;
      const writeKey = writeKeyOf(record);
      if (route !== undefined) count.add(route.sourceId, 1);
      else if (writeKey !== undefined) count.add(owners.get(writeKey) ?? '', 1);
      // Only its schema could tell.
      else if (schemaIdOf(record.value) !== undefined) count.leaveOut();
    });
    return count.byId;
  });
}

function writeKeyOf(record: IncomingRecord): string | undefined {
  const { topic, partition, offset, timestampMs, headers, value } = record;
  const origin = { topic, partition, offset, appendTimeMs: timestampMs };
  const { call } = parseCall(value, origin, maxBytesOf(headers));
  return chooseWriteKey(headers[writeKeyHeader], call?.writeKey);
}

class Count {
  readonly #counts: Map<string, number>;
  #isAll = true;

  constructor(ids: readonly string[]) {
    this.#counts = new Map(ids.map((id) => [id, 0]));
  }

  /** Ignores other ids. */
  add(id: string, events: number): void {
    const before = this.#counts.get(id);
    if (before !== undefined) this.#counts.set(id, before + events);
  }

  /** A record that was left out may belong to any of them. */
  leaveOut(): void {
    this.#isAll = false;
  }

  get byId(): ReadonlyMap<string, Waiting> {
    const isAll = this.#isAll;
    return new Map(Array.from(this.#counts, ([id, count]) => [id, { count, isAll }]));
  }
}

interface Pile {
  readonly topic: string;
  readonly parts: readonly UnfinishedPart[];
}

async function pilesOf(
  admin: KafkaAdmin,
  groupId: string,
  topics: Iterable<string>,
  existing: readonly string[],
): Promise<readonly Pile[]> {
  const piles: Pile[] = [];
  for (const topic of topics)
    // Kafka does not list topics that its ACLs do not let a principal describe. A request by name returns the
    // error.
    if (existing.includes(topic) || (await admin.partitionCount(topic).catch(ifMissing)) > 0)
      piles.push({ topic, parts: await admin.unfinished(groupId, topic) });
  return piles;
}

function ifMissing(error: unknown): number {
  if (error instanceof PostriderError && error.code === 'not-found') return 0;
  throw error;
}

async function readPiles(
  { kafka, clock, untilMs, onProgress }: WaitingOptions,
  piles: readonly Pile[],
  count: Count,
  onRecord: (record: IncomingRecord) => void,
): Promise<void> {
  const written = piles.flatMap(({ topic, parts }) => {
    const waiting = parts.filter((part) => part.count > 0);
    return waiting.length === 0 ? [] : [{ topic, parts: waiting }];
  });
  const all = offsetsIn(written.flatMap(({ parts }) => parts));
  let read = 0;
  for (const { topic, parts } of written) {
    const byPartition = new Map(parts.map((part) => [part.partition, part]));
    for await (const record of readRange(kafka, { topic, ranges: parts })) {
      if (clock.steadyNow() >= untilMs) {
        count.leaveOut();
        return;
      }
      onProgress((read += 1), all);
      if (byPartition.get(record.partition)?.has(record.offset) === true) onRecord(record);
    }
  }
}

/** The missing right may be one that this principal does not need otherwise. */
async function unlessRefused(count: () => Promise<WaitingById>): Promise<WaitingById> {
  try {
    return await count();
  } catch (error) {
    if (error instanceof PostriderError && !error.retry) return { unknown: error.message };
    throw error;
  }
}
