import { statSync } from 'node:fs';
import type { KafkaClient } from '../../kafka/client.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { waitUnlessAborted } from '../../ops/wait.ts';
import type { Topology } from '../../topology.ts';
import type { ConsoleMetrics } from '../metrics.ts';
import type { Bounds } from './bounds.ts';
import { isUnusable, openIndexDatabase, removeIndex, type IndexDatabase } from './database.ts';
import { Indexer } from './indexer.ts';
import { LastHours } from './last-hour.ts';
import { Pasts } from './pasts.ts';
import { bucketMs, type OffsetRow } from './schema.ts';
import { TopicFeed } from './topic-feed.ts';
import { Words } from './words.ts';

export interface IndexOptions {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly log: Logger;
  readonly clock: Clock;
  readonly dir: string;
  readonly bounds: Bounds;
  readonly metrics: ConsoleMetrics;
  /** The id of the source with this write key. */
  sourceOf(writeKey: string): string | undefined;
}

/** The open database that answers are made from. It is another one after the file had to be made again. */
export interface OpenIndex {
  readonly database: IndexDatabase;
  readonly words: Words;
  readonly lastHours: LastHours;
  readonly pasts: Pasts;
  /** Attempts up to this `seq` are in buckets too. */
  readonly countedSeq: number;
}

export interface Index {
  /** Undefined for the moment in which the file is made again. */
  readonly current: OpenIndex | undefined;
  /** Everything that was written to Kafka until then, in epoch milliseconds, is in it; undefined: it has not reached an end yet. */
  asOfMs(): number | undefined;
  /** Nothing has waited for long to be in it. */
  isCaughtUp(): boolean;
  /** A query has failed: if the file is what is wrong, it is made again. */
  failed(error: unknown): void;
  stop(): Promise<void>;
}

/** After what a person has to mend, such as a full disk. */
const againMs = 5_000;
/** Under steady traffic something always waits, for a commit or two. */
const caughtUpMs = 10_000;

/**
 * Follows `attempts`, `dead-letter`, `ingest.rejected` and `redrives` into the file of a folder.
 * @throws PostriderError `busy`, `setting-invalid`
 */
export async function startIndex(options: IndexOptions): Promise<Index> {
  const { log, dir, metrics, clock } = options;
  const stopping = new AbortController();
  let run: Run | undefined = await startRun(options);
  const isOver = (): boolean => stopping.signal.aborted;
  const loop = async (): Promise<void> => {
    while (!isOver()) {
      const error = await run?.ended;
      if (isOver()) return;
      log.error({ err: error }, 'the index of the console has failed; it is opened again');
      const failed = run;
      run = undefined;
      await failed?.stop();
      if (isUnusable(error)) {
        metrics.remade();
        await removeIndex(dir).catch(() => undefined);
      } else await waitUnlessAborted(againMs, stopping.signal);
      while (run === undefined && !isOver())
        try {
          run = await startRun(options);
        } catch (failure) {
          log.error({ err: failure }, 'the index of the console cannot be opened');
          await waitUnlessAborted(againMs, stopping.signal);
        }
    }
  };
  const looping = loop();
  const behindMs = (): number => performance.now() - (run?.knownAtMs ?? -Infinity);
  const isCaughtUp = (): boolean => behindMs() < caughtUpMs;
  metrics.watch(() => ({
    isCaughtUp: isCaughtUp(),
    bytes: run === undefined ? 0 : bytesOf(run.open.database.file),
  }));
  return {
    get current() {
      return run?.open;
    },
    asOfMs: () => {
      const ms = clock.now() - behindMs();
      return ms === -Infinity ? undefined : ms;
    },
    isCaughtUp,
    failed: (error) => {
      if (isUnusable(error)) run?.fail(error);
    },
    stop: async () => {
      stopping.abort();
      await run?.stop();
      await looping;
    },
  };
}

function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** From opening the file to its failure. */
interface Run {
  readonly open: OpenIndex;
  /** Resolves with the reason, or undefined when it was stopped. */
  readonly ended: Promise<unknown>;
  /** By `performance.now()`. */
  readonly knownAtMs: number;
  fail(error: unknown): void;
  stop(): Promise<void>;
}

async function startRun(options: IndexOptions): Promise<Run> {
  const { kafka, topology, log, clock, dir, bounds, metrics } = options;
  const { attempts, deadLetter, ingestRejected, redrives } = topology.topics;
  const database = await openIndexDatabase(dir, { log, metrics });
  const { promise: failure, resolve: fail } = Promise.withResolvers<unknown>();
  try {
    const known = await readKnown(database, clock.now());
    const { words, lastHours, pasts, offsets } = known;
    const feedOf = (topic: string): TopicFeed =>
      new TopicFeed({
        kafka,
        topic,
        log,
        stored: offsets.filter((row) => row.topic === topic),
        onRecords: () => {
          indexer.wake();
        },
        onCrash: fail,
      });
    const feeds = {
      attempts: feedOf(attempts),
      letters: feedOf(deadLetter),
      rejected: feedOf(ingestRejected),
      redrives: feedOf(redrives),
    };
    const indexer: Indexer = new Indexer({
      ...known,
      database,
      feeds,
      letterTopics: { dead_letters: deadLetter, rejected: ingestRejected },
      bounds,
      metrics,
      clock,
      sourceOf: (key) => options.sourceOf(key),
    });
    const all = Object.values(feeds);
    for (const feed of all) feed.start();
    const running = indexer.run().catch(fail);
    const ended = Promise.race([failure, running]);
    return {
      open: {
        database,
        words,
        lastHours,
        pasts,
        get countedSeq() {
          return indexer.countedSeq;
        },
      },
      ended,
      get knownAtMs() {
        return indexer.knownAtMs;
      },
      fail,
      stop: async () => {
        await Promise.all(all.map((feed) => feed.stop()));
        indexer.stop();
        fail(undefined);
        await running;
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

interface Known {
  readonly words: Words;
  readonly lastHours: LastHours;
  readonly pasts: Pasts;
  readonly offsets: readonly OffsetRow[];
  readonly lastSeq: number;
  readonly countedSeq: number;
}

async function readKnown(database: IndexDatabase, nowMs: number): Promise<Known> {
  const words = await database.rows<{ id: number; word: string }>('select id, word from words');
  const offsets = await database.rows<OffsetRow>(
    'select topic, topic_id as "topicId", part as partition, next::double as next from offsets',
  );
  const [facts] = await database.rows<{ last: number; counted: number }>(
    `select greatest((select coalesce(max(seq), -1) from attempts), value)::double as last,
       value::double as counted from facts where name = 'counted'`,
  );
  const lastHours = new LastHours();
  const recent = await database.rows<{
    destination: number;
    bucket: number;
    what: number;
    latency: number;
    count: number;
  }>(
    `select destination, (at_ms // ${bucketMs})::integer as bucket, what, latency, count(*)::integer as count
     from attempts where at_ms > ${nowMs - 13 * bucketMs} group by all`,
  );
  for (const { destination, bucket, what, latency, count } of recent)
    lastHours.add(destination, bucket, what, latency, count);
  return {
    words: new Words(words.map(({ id, word }) => [id, word])),
    lastHours,
    pasts: await Pasts.read(database, nowMs),
    offsets,
    lastSeq: facts?.last ?? -1,
    countedSeq: facts?.counted ?? -1,
  };
}
