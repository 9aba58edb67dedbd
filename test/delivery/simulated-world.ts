import { Registry } from 'prom-client';
import { decodeBundleHeader, decompressEvents } from '../../src/delivery/bundle/format.ts';
import { DeliveryEngine } from '../../src/delivery/engine.ts';
import type { Destinations } from '../../src/delivery/known-destinations.ts';
import { DeliveryEvents } from '../../src/delivery/events.ts';
import type { Claim } from '../../src/delivery/job.ts';
import { TakenRecord } from '../../src/kafka/consume/taken-record.ts';
import type { AttemptJournal } from '../../src/delivery/journal/journal.ts';
import { DeliveryMetrics } from '../../src/delivery/metrics.ts';
import { outcomeOfStatus, timedOut } from '../../src/delivery/outcome.ts';
import type { Outcome } from '../../src/delivery/outcome.ts';
import type { PreparedEndpoint } from '../../src/delivery/prepared-destination.ts';
import type { RetryPolicy } from '../../src/delivery/retry-policy.ts';
import type { Sender, Sending, TokenAnswer } from '../../src/delivery/sender.ts';
import type { PostriderError } from '../../src/errors.ts';
import {
  decodeEnvelope,
  deliveryKey,
  encodeEnvelope,
  envelopeHeader,
  isFromNewerRelease,
} from '../../src/event/envelope.ts';
import type { Envelope } from '../../src/event/envelope.ts';
import { partitionOf } from '../../src/kafka/produce/partitioner.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { silentLogger, type Logger } from '../../src/ops/log.ts';
import { partitionKeyOf } from '../../src/resources/resource.ts';
import { recallRecord, Recalls } from '../../src/resources/pauses/recall.ts';
import type { Destination } from '../../src/resources/resource.ts';
import type { OAuth2 } from '../../src/resources/schema/webhook-login.ts';
import { createTopology } from '../../src/topology.ts';
import type { Topology } from '../../src/topology.ts';
import { HandMadeFence } from './hand-made-fence.ts';
import { seededRandom, SimulatedClock } from './simulated-clock.ts';
import { SimulatedPartition } from './simulated-partition.ts';

export const minuteMs = 60_000;
export const hourMs: number = 60 * minuteMs;

export const defaultPolicy: RetryPolicy = {
  tiersMs: [10_000, 60_000, 300_000, 900_000, 1_800_000, 3_600_000],
  windowMs: 4 * hourMs,
  maxAgeMs: 72 * hourMs,
  spillAfterMs: 84 * hourMs,
};

/** What an endpoint does with a request. */
export interface Answer {
  readonly outcome: Outcome;
  readonly afterMs: number;
  /** Of its `Retry-After`, for destinations with rules of their own. */
  readonly retryAfterMs?: number | undefined;
}

/** What says to which partition a record goes. */
export type Placed = Pick<OutgoingRecord, 'key' | 'partitionKey'>;

export const hangs: Answer = { outcome: timedOut, afterMs: 5_000 };

export interface SentRequest {
  readonly atMs: number;
  /** As it is configured. */
  readonly url: string;
  /** With the query. */
  readonly path: string;
  readonly messageId: string;
  /** The message ids of its events: one, or those of its batch. */
  readonly events: readonly string[];
  readonly body: string;
  readonly signature: string | undefined;
}

export interface WorldOptions {
  readonly policy?: RetryPolicy;
  readonly maxInFlight?: number;
  /** Of the worker's time; default 0. */
  readonly busyShare?: number;
  readonly seed?: number;
  /** Several worlds may share one. */
  readonly clock?: SimulatedClock;
  /** Of every topic; default 1. */
  readonly partitions?: number;
  /** Default 7 s. */
  readonly fenceMs?: number;
  /** Before its message ids. */
  readonly name?: string;
  readonly log?: Logger;
  /** Of the world's clock. */
  readonly journal?: (clock: SimulatedClock) => AttemptJournal;
}

/**
 * The production engine in a world of its own: time, endpoints and Kafka are simulated. What the engine
 * writes to a retry topic comes back to it; what it finishes, delivers and gives up is written down.
 */
export class SimulatedWorld {
  readonly clock: SimulatedClock;
  readonly topology: Topology;
  readonly engine: DeliveryEngine;
  readonly requests: SentRequest[] = [];
  readonly delivered: string[] = [];
  readonly finished: string[] = [];
  /** Left to the next owner of their partitions. */
  readonly released: string[] = [];
  /** The records of `deadLetters`. */
  readonly letters: OutgoingRecord[] = [];
  readonly deadLetters: { messageId: string; reason: string; detail: string; attempts: number }[] =
    [];
  /** Records written to retry topics. */
  retryRecords = 0;
  /** Events in them. */
  readonly retries: { topic: string; envelope: Envelope; atMs: number }[] = [];
  readonly destinations: Map<string, Destination> = new Map();
  readonly fence: HandMadeFence = new HandMadeFence();
  readonly metrics: DeliveryMetrics = new DeliveryMetrics(new Registry());
  /** Destinations that exist, and whose secrets cannot be decrypted here. */
  readonly unreadable: Set<string> = new Set();
  /** Destinations; see `pause`. */
  readonly paused: Set<string> = new Set();
  hearsOfPauses = true;
  readonly recalls: Recalls = new Recalls();
  /** In the topic `paused`. */
  readonly kept: { readonly messageId: string; readonly record: OutgoingRecord }[] = [];
  configOffset = 1;
  configFresh = true;
  /** Largest number of requests on their way at one time, by URL. */
  readonly mostInFlight: Map<string, number> = new Map();
  /** Of all URLs together. */
  mostInFlightAtAll = 0;
  answer: (url: string, sending: Sending, nowMs: number) => Answer = () => answerOk;
  /** What an authorization server does. */
  tokenAnswer: (login: OAuth2) => { readonly answer: TokenAnswer; readonly afterMs: number } =
    () => ({
      answer: { kind: 'token', token: `t${this.tokenRequests.length}`, lifeS: 300 },
      afterMs: 50,
    });
  readonly tokenRequests: { readonly atMs: number; readonly login: OAuth2 }[] = [];
  /** The body of a fresh event. */
  bodyOf: (messageId: string) => string = (messageId) => `{"n":"${messageId}"}`;
  onDelivered: (messageId: string) => void = () => undefined;
  /** Records that the sink refuses for ever. */
  refuses: (topic: string, record: OutgoingRecord) => PostriderError | undefined = () => undefined;
  /** Until Kafka has what is written to the topic. */
  writtenAfterMs: (topic: string) => number = () => 2;
  readonly #inFlight = new Map<string, number>();
  readonly #read = new Map<string, SimulatedPartition>();
  readonly #partitions: number;
  readonly #name: string;
  /** Taken and not finished. */
  readonly #unfinished = new Map<TakenRecord, OutgoingRecord>();
  /** Of them, those that somebody here works on. */
  readonly #inWork = new Set<TakenRecord>();
  /** Who reads what is written to a retry topic. */
  readerOf: (record: OutgoingRecord) => SimulatedWorld = () => this;
  #inFlightAtAll = 0;
  #sequence = 0;

  constructor(options: WorldOptions = {}) {
    const policy = options.policy ?? defaultPolicy;
    this.clock = options.clock ?? new SimulatedClock();
    this.#partitions = options.partitions ?? 1;
    this.#name = options.name ?? '';
    this.topology = createTopology({
      prefix: '',
      partitions: 1,
      replicationFactor: 1,
      retryTiersMs: policy.tiersMs,
      extraIngestTopics: [],
    });
    const sender: Sender = {
      send: (sending, endpoint, index, path) => {
        this.#send(sending, endpoint, index, path);
      },
      fetchToken: (login, told) => {
        this.tokenRequests.push({ atMs: this.clock.now(), login });
        const { answer, afterMs } = this.tokenAnswer(login);
        this.clock.after(afterMs, () => {
          told(answer);
        });
      },
      close: () => Promise.resolve(),
    };
    this.engine = new DeliveryEngine({
      clock: this.clock,
      random: seededRandom(options.seed ?? 1),
      sender,
      sink: {
        produce: (record, done) => {
          this.clock.after(this.writtenAfterMs(record.topic), () => {
            const refused = this.refuses(record.topic, record);
            done(refused);
            if (refused === undefined) this.#written(record);
          });
        },
      },
      destinations: this.#config(),
      fence: this.fence,
      paused: {
        has: ({ id }) => this.paused.has(id),
        isFresh: () => this.hearsOfPauses,
        recalls: this.recalls,
      },
      fenceMs: options.fenceMs ?? 7_000,
      topics: {
        retryTopic: (tierMs) => this.topology.retryTopic(tierMs),
        dedicatedTopic: (destinationId) => this.topology.dedicatedTopic(destinationId).name,
        retryTierMs: (topic) => this.topology.retryTierMs(topic),
        deadLetter: this.topology.topics.deadLetter,
        paused: this.topology.topics.paused,
      },
      policy,
      events: new DeliveryEvents(
        options.log ?? silentLogger,
        this.metrics,
        this.clock,
        options.journal?.(this.clock),
      ),
      busyShare: () => options.busyShare ?? 0,
      maxInFlight: options.maxInFlight ?? 1_024,
      maxInFlightPerDestination: 64,
    });
    const indexes = new Set(Array.from({ length: this.#partitions }, (_, index) => index));
    this.engine.sharesChanged({ indexes, count: this.#partitions });
  }

  addDestination(id: string, changes: Partial<Destination> = {}): Destination {
    const destination: Destination = {
      kind: 'Destination',
      id,
      name: id,
      sources: ['shop'],
      enabled: true,
      webhooks: [{ url: `https://${id}.example/hook`, headers: {} }],
      payload: 'standard',
      topic: 'shared',
      ...changes,
    };
    this.destinations.set(id, destination);
    this.configOffset += 1;
    this.engine.destinationChanged(id);
    return destination;
  }

  pause(id: string): void {
    this.paused.add(id);
    this.engine.destinationChanged(id);
  }

  resume(id: string): void {
    this.paused.delete(id);
    this.engine.destinationChanged(id);
  }

  /** An operator has mended the endpoint: all that waits in retry topics now is recalled. */
  recall(id: string): void {
    const ends: Record<string, number[]> = {};
    for (const { claim, end } of this.#read.values()) {
      if (this.topology.retryTierMs(claim.topic) === undefined) continue;
      (ends[claim.topic] ??= Array.from({ length: this.#partitions }, () => 0))[claim.partition] =
        end;
    }
    const { uid } = this.destinations.get(id) ?? {};
    const { value } = recallRecord('', { id, uid }, ends);
    this.recalls.apply(id, value === null ? null : Buffer.from(value), this.clock.now());
    this.engine.recalled(id);
  }

  claim(topic: string, partition = 0): Claim {
    return this.#partition(topic, partition).claim;
  }

  #partition(topic: string, partition: number): SimulatedPartition {
    const key = `${topic}:${partition}`;
    const known = this.#read.get(key);
    if (known !== undefined) return known;
    const isRetry = this.topology.retryTierMs(topic) !== undefined;
    const dedicated = this.topology.dedicatedDestination(topic) !== undefined;
    const made = new SimulatedPartition(
      { topic, partition, isRetry },
      { dedicated, clock: this.clock },
      (record, offset) => {
        this.engine.take(made.claim, [this.#taken(record, offset)]);
      },
    );
    this.#read.set(key, made);
    return made;
  }

  /** The partition is to go to another worker, as soon as nothing of it is in flight here. */
  revoke(topic: string, partition = 0): void {
    this.engine.revoke([this.claim(topic, partition)]);
  }

  /** Records of the partition that were taken, and neither finished nor released. */
  inWork(topic: string, partition = 0): number {
    let records = 0;
    for (const taken of this.#inWork)
      if (taken.topic === topic && taken.partition === partition) records += 1;
    return records;
  }

  /** The partition has gone to another worker. Returns what that one reads, in part again. */
  lose(topic: string, partition = 0): OutgoingRecord[] {
    const { claim, unread } = this.#partition(topic, partition);
    this.engine.lose([claim]);
    this.#read.delete(`${topic}:${partition}`);
    const again: OutgoingRecord[] = [];
    for (const [taken, record] of this.#unfinished) {
      if (taken.topic !== topic || taken.partition !== partition) continue;
      this.#unfinished.delete(taken);
      again.push(record);
    }
    return [...again, ...unread];
  }

  /** A fresh event arrives. Returns its message id. */
  publish(
    destinationId: string,
    user = 'u1',
    changes: Partial<Envelope> = {},
    topic: string = this.topology.topics.delivery,
  ): string {
    const messageId = `${this.#name}m${++this.#sequence}`;
    const envelope: Envelope = {
      destinationId,
      uid: this.destinations.get(destinationId)?.uid,
      sourceId: 'shop',
      messageId,
      type: 'track',
      configOffset: this.configOffset,
      appendTimeMs: this.clock.now(),
      attempts: 0,
      ...changes,
    };
    const headers = { [envelopeHeader]: encodeEnvelope(envelope) };
    const destination = this.destinations.get(destinationId);
    this.take({
      topic,
      partitionKey: destination === undefined ? undefined : partitionKeyOf(destination),
      key: deliveryKey(destinationId, user),
      value: this.bodyOf(messageId),
      headers,
    });
    return messageId;
  }

  envelopeFor(destinationId: string): string {
    return encodeEnvelope({
      destinationId,
      sourceId: 'shop',
      messageId: 'raw',
      type: 'track',
      attempts: 0,
      configOffset: this.configOffset,
      appendTimeMs: this.clock.now(),
    });
  }

  /** Unlike `publish`, with any header and value. */
  publishRaw(headers: Record<string, string>, value: string | Buffer | null): void {
    this.take({ topic: this.topology.topics.delivery, key: 'raw', value, headers });
  }

  /** Requests to the URL that are on their way. */
  inFlightAt(url: string): number {
    return this.#inFlight.get(url) ?? 0;
  }

  get atRetry(): number {
    return this.retries.length;
  }

  partitionOf({ key, partitionKey }: Placed): number {
    return partitionOf(partitionKey ?? key, this.#partitions);
  }

  /** A record is written to its topic, and read as soon as its window has room. */
  take(record: OutgoingRecord): void {
    this.#partition(record.topic, this.partitionOf(record)).append(record);
  }

  /** As it comes to the engine, past its topic's log. */
  taken(record: OutgoingRecord): TakenRecord {
    return this.#taken(
      record,
      this.#partition(record.topic, this.partitionOf(record)).place(record),
    );
  }

  #taken(record: OutgoingRecord, offset: number): TakenRecord {
    const partition = this.#partition(record.topic, this.partitionOf(record));
    const headers: Record<string, Buffer> = {};
    for (const [name, value] of Object.entries(record.headers ?? {}))
      headers[name] = Buffer.from(value);
    const envelopes = envelopesOf(record);
    const [envelope] = envelopes;
    const ids = envelopes.length === 0 ? [''] : envelopes.map(({ messageId }) => messageId);
    const isNewer = isFromNewerRelease(headers[envelopeHeader]);
    const isWrittenNow = envelope?.dueMs !== undefined || isNewer;
    const place = {
      topic: record.topic,
      partition: this.partitionOf(record),
      offset,
      timestampMs: isWrittenNow ? this.clock.now() : (envelope?.appendTimeMs ?? 0),
      key: record.key === null ? null : Buffer.from(record.key),
      value: record.value === null ? null : Buffer.from(record.value),
      headers,
    };
    const owner = {
      finish: (slot: number): void => {
        if (slot !== 7) return;
        if (!this.#inWork.delete(taken)) throw new Error('a record came to two ends');
        // Its next owner reads it again: Kafka does not know that it is finished.
        if (this.#unfinished.delete(taken)) this.finished.push(...ids);
        partition.finish(offset);
      },
      release: (slot: number): void => {
        if (slot !== 7) return;
        if (!this.#inWork.delete(taken)) throw new Error('a record came to two ends');
        this.released.push(...ids);
        partition.release(offset);
      },
      setAside: (slot: number): void => {
        if (slot === 7) partition.setAside(offset);
      },
    };
    const taken = new TakenRecord(place, owner, 7);
    this.#unfinished.set(taken, record);
    this.#inWork.add(taken);
    return taken;
  }

  #written(record: OutgoingRecord): void {
    const envelopes = envelopesOf(record);
    const [envelope] = envelopes;
    if (record.topic === this.topology.topics.deadLetter) {
      this.letters.push(record);
      this.deadLetters.push({
        messageId: envelope?.messageId ?? '',
        reason: String(record.headers?.['reason']),
        detail: String(record.headers?.['detail']),
        attempts: envelope?.attempts ?? 0,
      });
    } else if (record.topic === this.topology.topics.paused) {
      this.kept.push({ messageId: envelope?.messageId ?? '', record });
    } else {
      const header = Buffer.from(record.headers?.[envelopeHeader] ?? '');
      if (envelope === undefined && !isFromNewerRelease(header))
        throw new Error('written without an envelope');
      const atMs = this.clock.now();
      this.retryRecords += 1;
      for (const each of envelopes)
        this.retries.push({ topic: record.topic, envelope: each, atMs });
      this.clock.after(3, () => {
        this.readerOf(record).take(record);
      });
    }
  }

  #send(sending: Sending, endpoint: PreparedEndpoint, index: number, path: string): void {
    const { url } = endpoint;
    const nowMs = this.clock.now();
    const { messageId, headers } = sending;
    const signature = headers[headers.indexOf('X-Signature') + 1];
    const body = sending.body.toString();
    const events = eventsOf(sending);
    this.requests.push({ atMs: nowMs, url, path, messageId, events, body, signature });
    const inFlight = (this.#inFlight.get(url) ?? 0) + 1;
    this.#inFlight.set(url, inFlight);
    this.mostInFlight.set(url, Math.max(inFlight, this.mostInFlight.get(url) ?? 0));
    this.#inFlightAtAll += 1;
    this.mostInFlightAtAll = Math.max(this.mostInFlightAtAll, this.#inFlightAtAll);
    const answer = this.answer(url, sending, nowMs);
    const { afterMs } = answer;
    const outcome = judged(answer, endpoint);
    this.clock.after(afterMs, () => {
      this.#inFlightAtAll -= 1;
      this.#inFlight.set(url, (this.#inFlight.get(url) ?? 0) - 1);
      const each = outcome.kind === 'delivered' ? outcome.each : undefined;
      for (const [place, id] of events.entries()) {
        if ((each?.[place] ?? outcome).kind !== 'delivered') continue;
        this.delivered.push(id);
        this.onDelivered(id);
      }
      sending.settled(outcome, index, afterMs);
    });
  }

  #config(): Destinations {
    const offset = (): number => this.configOffset;
    const fresh = (): boolean => this.configFresh;
    return {
      get offset() {
        return offset();
      },
      destination: (id) => this.destinations.get(id),
      destinations: () => this.destinations.values(),
      isUnreadable: (id) => this.unreadable.has(id),
      uidOf: (id) => this.destinations.get(id)?.uid,
      isFresh: fresh,
    };
  }
}

/** The bodies of a batch have their ids, unless `bodyOf` says otherwise. */
function eventsOf({ messageId, batchSize, body }: Sending): readonly string[] {
  if (batchSize === 0) return [messageId];
  return (JSON.parse(body.toString()) as { n: string }[]).map(({ n }) => n);
}

/** As the destination's rules for answers have it. */
function judged({ outcome, retryAfterMs }: Answer, { answerRules }: PreparedEndpoint): Outcome {
  if (outcome.status === undefined || answerRules === undefined) return outcome;
  return outcomeOfStatus(outcome.status, seconds(retryAfterMs), 0, undefined, answerRules);
}

/** Of its only event, or of all that it bundles; a bundle's due time is theirs. */
function envelopesOf({ headers, value }: OutgoingRecord): Envelope[] {
  const header = Buffer.from(headers?.[envelopeHeader] ?? '');
  const envelope = decodeEnvelope(header);
  if (envelope !== undefined) return [envelope];
  const bundle = decodeBundleHeader(header);
  const events = bundle === undefined ? [] : decompressEvents(Buffer.from(value ?? ''));
  return (events ?? []).flatMap((event) => {
    const bundled = decodeEnvelope(event.header);
    if (bundled === undefined) return [];
    const deadlineMs = bundled.deadlineMs ?? bundle?.deadlineMs;
    return [{ ...bundled, deadlineMs, dueMs: bundle?.dueMs }];
  });
}

export const answerOk: Answer = { outcome: { kind: 'delivered' }, afterMs: 20 };

export function failsWith(status: number, retryAfterMs?: number): Answer {
  const outcome = outcomeOfStatus(status, seconds(retryAfterMs), 0);
  return { outcome, afterMs: 20, retryAfterMs };
}

function seconds(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : String(ms / 1_000);
}
