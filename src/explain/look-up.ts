import { answerOf, readDeadLetter } from '../dead-letter/dead-letter.ts';
import { placeText } from '../dead-letter/letter.ts';
import { Redrives } from '../dead-letter/redrives.ts';
import { decodeBundleHeader, decompressEvents } from '../delivery/bundle/format.ts';
import { decodeAttemptLines } from '../event/attempt-line.ts';
import { decodeEnvelope, envelopeHeader, userOf } from '../event/envelope.ts';
import { beginningOf } from '../event/last-answer.ts';
import { withAdmin, type KafkaAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import type { IncomingRecord } from '../kafka/record.ts';
import { ConfigHistory } from '../resources/config/config-history.ts';
import { suppressions } from '../resources/suppressions/suppressed-users.ts';
import type { Schemas } from '../schemas/schemas.ts';
import type { Topology } from '../topology.ts';
import {
  LatestBodies,
  type EventLine,
  type Evidence,
  type FoundCopy,
  type FoundLetter,
  type FoundRejected,
  type FoundWaiting,
  type Place,
} from './evidence.ts';
import { findCalls, type FoundRecords, type Question } from './find-calls.ts';
import { factsBytes, TopicReader } from './topic-reader.ts';
import { Scene } from './scene.ts';
import { isSought, writable } from '../event/sought.ts';

export interface LookUpOptions {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly schemas: Schemas;
  readonly nowMs: number;
  /** Gets each reader, whose progress can be read at any time. */
  readonly onReader: (reader: TopicReader) => void;
  /** Ends the reading early. */
  readonly signal?: AbortSignal;
}

/** A mark is written after its letter, but perhaps by another broker, whose clock is behind. */
const mostSkewMs = 60 * 60_000;

type IsWanted = (messageId: unknown) => boolean;

type Committed = ReadonlyMap<string, readonly number[]>;

/** Reads everything that the topics contain about an event. */
export async function lookUp(options: LookUpOptions, question: Question): Promise<Evidence> {
  return withAdmin(options.kafka, async (admin) => {
    const topics = new Set(await admin.topicNames());
    const { messageId } = question;
    const { kafka, signal } = options;
    const reader = new TopicReader({ kafka, admin, topics, messageId, signal });
    options.onReader(reader);
    return new LookUp(options, admin, reader, topics).evidence(question);
  });
}

class LookUp {
  readonly #options: LookUpOptions;
  readonly #admin: KafkaAdmin;
  readonly #reader: TopicReader;
  readonly #topics: ReadonlySet<string>;
  readonly #history = new ConfigHistory();
  readonly #suppressed = new Map<string, number>();
  readonly #bodies = new LatestBodies();

  constructor(
    options: LookUpOptions,
    admin: KafkaAdmin,
    reader: TopicReader,
    topics: ReadonlySet<string>,
  ) {
    this.#options = options;
    this.#admin = admin;
    this.#reader = reader;
    this.#topics = topics;
  }

  async evidence(question: Question): Promise<Evidence> {
    const { nowMs, topology } = this.#options;
    const { messageId, destinationId } = question;
    const ingest = topology.ingestTopics.filter((topic) => this.#topics.has(topic));
    const [routed] = await Promise.all([
      this.#admin.committedOffsets(topology.groups.router, ingest),
      this.#readConfig(),
      this.#readSuppressions(),
    ]);
    const ownSources =
      destinationId === undefined ? undefined : this.#history.sourcesOf(destinationId);
    const deps = { ...this.#options, reader: this.#reader, routed, ownSources };
    const found = await findCalls(deps, question);
    const call = found.first;
    const said = question.user ?? (call === undefined ? undefined : userOf(call.read.call));
    // As the keys of its records have it.
    const user = said === undefined ? undefined : writable(said);
    const sinceMs = firstMs(found) ?? question.sinceMs;
    const scene = new Scene(this.#history, topology, call, user, this.#suppressed);
    const isWanted = isSought(messageId);
    const [copies, lines, letters, rejected] = await Promise.all([
      call === undefined ? [] : this.#copies(scene, isWanted, sinceMs),
      this.#lines(scene, isWanted, sinceMs),
      this.#allLetters(scene, isWanted, sinceMs),
      this.#sentAgain(found),
    ]);
    const waiting = await this.#waiting(scene, isWanted, sinceMs, lines);
    return {
      messageId,
      user,
      nowMs,
      calls: found.calls,
      first: call,
      rejected,
      rulings: scene.rulings(copies[0]?.envelope.configOffset),
      copies,
      bodies: this.#bodies.all,
      lines,
      waiting,
      letters,
    };
  }

  async #readConfig(): Promise<void> {
    const topic = this.#options.topology.topics.config;
    const ranges = await this.#reader.ranges({ topic });
    await this.#reader.each(topic, ranges, (record) => {
      this.#history.collect(record);
    });
  }

  async #readSuppressions(): Promise<void> {
    const topic = this.#options.topology.topics.suppressions;
    // A deployment of an earlier release has none.
    if (!this.#topics.has(topic)) return;
    const ranges = await this.#reader.ranges({ topic });
    await this.#reader.each(topic, ranges, (record) => {
      suppressions.apply(this.#suppressed, record);
    });
  }

  /** The records that the router has written for destinations. */
  async #copies(
    scene: Scene,
    isWanted: IsWanted,
    sinceMs: number | undefined,
  ): Promise<readonly FoundCopy[]> {
    const copies = this.#reader.findings<FoundCopy>();
    const { topology } = this.#options;
    const topics = scene.deliveryTopics().filter((topic) => this.#topics.has(topic));
    await Promise.all(
      topics.map(async (topic) => {
        const destinationId = topology.dedicatedDestination(topic);
        const ids = destinationId === undefined ? scene.ids : [destinationId];
        const partitions = scene.partitions(ids, await this.#reader.partitionCount(topic), 'home');
        const committed = await this.#admin.committedOffsets(topology.deliveryGroup(topic), [
          topic,
        ]);
        const missing = new Set(ids.filter((id) => scene.expects(id)));
        await this.#reader.findUntil(
          { topic, partitions, sinceMs },
          () => missing.size === 0,
          (record) => {
            const copy = copyOf(scene, record, isWanted, committed);
            if (copy === undefined) return;
            copies.add(copy, factsBytes);
            this.#keepBody(copy, record);
            missing.delete(copy.envelope.destinationId);
          },
        );
      }),
    );
    return copies.items;
  }

  #keepBody({ envelope, place }: FoundCopy, { value }: IncomingRecord): void {
    const { destinationId: id, uid } = envelope;
    if (value !== null) this.#bodies.add({ id, uid }, value, place.timeMs);
  }

  async #lines(
    scene: Scene,
    isWanted: IsWanted,
    sinceMs: number | undefined,
  ): Promise<readonly EventLine[]> {
    const topic = this.#options.topology.topics.attempts;
    if (!this.#reader.has(topic)) return [];
    const lines = this.#reader.findings<EventLine>();
    const open = new Set(scene.ids.filter((id) => scene.expects(id)));
    const partitions = scene.partitions(scene.ids, await this.#reader.partitionCount(topic), 'own');
    await this.#reader.findUntil(
      { topic, partitions, sinceMs },
      () => scene.hasCall && open.size === 0,
      ({ value }) => {
        for (const line of decodeAttemptLines(value)) {
          if (line.kind === 'bundle-deferred' || !isWanted(line.messageId)) continue;
          if (scene.user !== undefined && line.user !== scene.user) continue;
          lines.add(line, factsBytes);
          const isDelivered = line.kind === 'attempt' && line.outcome === 'delivered';
          if (isDelivered || line.kind === 'dropped') open.delete(line.destination);
        }
      },
    );
    return lines.items.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  }

  async #allLetters(
    scene: Scene,
    isWanted: IsWanted,
    sinceMs: number | undefined,
  ): Promise<readonly FoundLetter[]> {
    const { deadLetter, paused } = this.#options.topology.topics;
    const found = await Promise.all([
      this.#letters(scene, isWanted, sinceMs, { kind: 'dead-letter', topic: deadLetter }),
      this.#letters(scene, isWanted, sinceMs, { kind: 'kept', topic: paused }),
    ]);
    return found.flat().sort((a, b) => a.place.timeMs - b.place.timeMs);
  }

  async #letters(
    scene: Scene,
    isWanted: IsWanted,
    sinceMs: number | undefined,
    { kind, topic }: Pick<FoundLetter, 'kind'> & { readonly topic: string },
  ): Promise<readonly FoundLetter[]> {
    if (!this.#reader.has(topic)) return [];
    const count = await this.#reader.partitionCount(topic);
    const partitions = scene.partitions(scene.ids, count, 'own');
    const isOfCall = (record: IncomingRecord): boolean => {
      const { envelope } = readDeadLetter(record);
      return (
        envelope !== undefined &&
        isWanted(envelope.messageId) &&
        scene.isOfUser(envelope, record.key)
      );
    };
    const found = await this.#reader.find({ topic, partitions, sinceMs }, isOfCall);
    const letters = found.map(readDeadLetter);
    const redrives = await this.#redrives(
      topic,
      letters.map(({ record }) => placed(record)),
    );
    return letters.flatMap((letter) => {
      const { record, envelope, reason, detail } = letter;
      const answer = answerOf(letter);
      if (envelope === undefined) return [];
      return {
        kind,
        place: placed(record),
        envelope,
        reason,
        detail,
        answer: answer === null ? undefined : beginningOf(answer),
        sentAgain: redrives.timeOf(record),
      };
    });
  }

  async #sentAgain({ rejected }: FoundRecords): Promise<readonly FoundRejected[]> {
    const topic = this.#options.topology.topics.ingestRejected;
    const redrives = await this.#redrives(
      topic,
      rejected.map(({ place }) => place),
    );
    return rejected.map((each) => {
      const { timeMs: timestampMs, ...place } = each.place;
      return { ...each, sentAgain: redrives.timeOf({ ...place, timestampMs }) };
    });
  }

  /**
   * Only for these letters, and from the time of the first one on, because the topic holds the marks of all letters
   * that were ever sent again. Reads all partitions: since some were added, the marks of a letter may lie in two.
   */
  async #redrives(letterTopic: string, places: readonly Place[]): Promise<Redrives> {
    const wanted = new Set(places.map(placeText));
    const redrives = new Redrives(letterTopic, (place) => wanted.has(placeText(place)));
    const topic = this.#options.topology.topics.redrives;
    const earliestMs = earliest(places);
    if (earliestMs === undefined || !this.#reader.has(topic)) return redrives;
    const sinceMs = earliestMs - mostSkewMs;
    await this.#reader.each(topic, await this.#reader.ranges({ topic, sinceMs }), (record) => {
      redrives.collect(record);
    });
    return redrives;
  }

  /**
   * Reads retry topics from what the workers have finished on, for destinations whose story has no end yet.
   */
  async #waiting(
    scene: Scene,
    isWanted: IsWanted,
    sinceMs: number | undefined,
    lines: readonly EventLine[],
  ): Promise<readonly FoundWaiting[]> {
    const { topology } = this.#options;
    const mayWait = (id: string): boolean => {
      const last = lines.findLast(({ destination }) => destination === id);
      if (last === undefined) return !scene.hasCall || scene.expects(id);
      return last.kind !== 'dropped' && !(last.kind === 'attempt' && last.outcome === 'delivered');
    };
    const ids = scene.ids.filter(mayWait);
    const retries = [...this.#topics].filter((name) => topology.retryTierMs(name) !== undefined);
    if ((ids.length === 0 && scene.user !== undefined) || retries.length === 0) return [];
    const committed = await this.#admin.committedOffsets(topology.groups.delivery, retries);
    const waiting = this.#reader.findings<FoundWaiting>();
    await Promise.all(
      retries.map(async (topic) => {
        const count = await this.#reader.partitionCount(topic);
        const partitions = scene.partitions(ids, count, 'home');
        const ranges = (await this.#reader.ranges({ topic, partitions, sinceMs })).map((range) => ({
          ...range,
          start: Math.max(range.start, committed.get(topic)?.[range.partition] ?? range.start),
        }));
        await this.#reader.each(topic, ranges, (record) => {
          for (const each of waitingIn(scene, record, isWanted, committed)) {
            waiting.add(each, factsBytes);
            if (each.events === 1) this.#keepBody(each, record);
          }
        });
      }),
    );
    return waiting.items.sort((a, b) => a.place.timeMs - b.place.timeMs);
  }
}

function firstMs({ calls, rejected }: FoundRecords): number | undefined {
  return earliest([...calls, ...rejected].map(({ place }) => place));
}

function earliest(places: readonly Place[]): number | undefined {
  const times = places.map(({ timeMs }) => timeMs);
  return times.length === 0 ? undefined : times.reduce((first, each) => Math.min(first, each));
}

function copyOf(
  scene: Scene,
  record: IncomingRecord,
  isWanted: IsWanted,
  committed: Committed,
): FoundCopy | undefined {
  const header = record.headers[envelopeHeader];
  const envelope = header === undefined ? undefined : decodeEnvelope(header);
  if (envelope === undefined || !isWanted(envelope.messageId)) return undefined;
  if (!scene.isOfUser(envelope, record.key)) return undefined;
  return { place: placed(record), envelope, isAhead: isAhead(record, committed) };
}

/** The event itself, or the events of a bundle with its id. */
function waitingIn(
  scene: Scene,
  record: IncomingRecord,
  isWanted: IsWanted,
  committed: Committed,
): readonly FoundWaiting[] {
  const copy = copyOf(scene, record, isWanted, committed);
  if (copy !== undefined) {
    const { dueMs, deadlineMs } = copy.envelope;
    return [{ ...copy, dueMs, deadlineMs, events: 1 }];
  }
  const header = record.headers[envelopeHeader];
  const bundle = header === undefined ? undefined : decodeBundleHeader(header);
  if (bundle === undefined || record.value === null) return [];
  const { dueMs, events, impliedDeadlineMs = bundle.deadlineMs } = bundle;
  return (decompressEvents(record.value) ?? []).flatMap(({ header: own, key }) => {
    const envelope = decodeEnvelope(own);
    if (envelope === undefined || !isWanted(envelope.messageId)) return [];
    if (!scene.isOfUser(envelope, key)) return [];
    const deadlineMs = envelope.deadlineMs ?? impliedDeadlineMs;
    const place = placed(record);
    return { place, envelope, dueMs, deadlineMs, events, isAhead: isAhead(record, committed) };
  });
}

/** Says whether the record is not finished yet. */
function isAhead({ topic, partition, offset }: IncomingRecord, committed: Committed): boolean {
  return (committed.get(topic)?.[partition] ?? -1) <= offset;
}

function placed({ topic, partition, offset, timestampMs: timeMs }: IncomingRecord): Place {
  return { topic, partition, offset, timeMs };
}
