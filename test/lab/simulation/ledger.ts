import type { SimulatedDeployment } from './deployment.ts';
import type { SimulatedBrokers } from './kafka/brokers.ts';
import type { SimulatedEndpoints } from './endpoints.ts';
import { eventsIn, type LoggedEvent } from './read-log.ts';
import { SentAgain } from './sent-again.ts';
import type { Topology } from '../../../src/topology.ts';

export interface AcceptedCall {
  readonly messageId: string;
  readonly user: string;
  /** Before any broker had it. */
  readonly producedMs: number;
  /** When all in-sync replicas had it. */
  acceptedMs: number | undefined;
}

/** The last letter of an event. */
export interface GivenUp {
  readonly reason: string;
  readonly atMs: number;
  /** When the event was last sent again before. */
  readonly redrivenMs: number | undefined;
}

/** How long an event took that its endpoint has taken. */
export interface Wait {
  readonly user: string;
  /** When its call was accepted. */
  readonly fromMs: number;
  readonly forMs: number;
}

/** What was accepted, and what has become of it. */
export class Ledger {
  readonly calls: Map<string, AcceptedCall> = new Map();
  /** When deletions were written, by user: asked for, and acknowledged. */
  readonly deletions: Map<string, { readonly fromMs: number; readonly ackMs: number }[]> =
    new Map();
  /** Of events in the dead-letter topic, by `destination message`. */
  readonly letters: Map<string, GivenUp> = new Map();
  /** `destination message` of events that were in a topic when it was deleted, and that no worker had finished. */
  readonly lost: Set<string> = new Set();
  readonly sentAgain: SentAgain;
  readonly #deployment: SimulatedDeployment;
  readonly #brokers: SimulatedBrokers;
  readonly #endpoints: SimulatedEndpoints;
  readonly #topology: Topology;
  readonly #read = new Map<number, number>();

  constructor(deployment: SimulatedDeployment) {
    this.#deployment = deployment;
    this.#brokers = deployment.brokers;
    this.#endpoints = deployment.endpoints;
    this.#topology = deployment.topology;
    this.sentAgain = new SentAgain(deployment);
  }

  /** Reads what has been written to the topics where events come to an end. */
  readLogs(): void {
    for (const { messageId, user, atMs } of this.#deployment.audience?.told ?? [])
      this.calls.set(messageId, { messageId, user, producedMs: atMs, acceptedMs: atMs });
    this.#readLetters();
    this.sentAgain.readLogs();
  }

  /**
   * `destination message` of accepted events with no end yet. What is kept has none, and what was sent again has to come
   * to one once more.
   */
  open(destinationIds: readonly string[]): string[] {
    const open: string[] = [];
    for (const call of this.calls.values()) {
      if (call.acceptedMs === undefined || this.wasDeleted(call)) continue;
      for (const id of destinationIds) {
        const name = `${id} ${call.messageId}`;
        if (this.lost.has(name)) continue;
        if (this.endedMs(name) < (this.sentAgain.lastMs(name) ?? 0)) open.push(name);
      }
    }
    return open;
  }

  /** When the event was last taken, or given up; -1: it has not been. */
  endedMs(name: string): number {
    const takenMs = this.#endpoints.taken.get(name) ?? -1;
    return Math.max(takenMs, this.letters.get(name)?.atMs ?? -1);
  }

  waits(destinationId: string): Wait[] {
    const waits = new Map<string, Wait>();
    for (const { isTaken, atMs, ...attempt } of this.#endpoints.attempts) {
      if (!isTaken || attempt.destinationId !== destinationId) continue;
      const { user = '', acceptedMs: fromMs } = this.calls.get(attempt.messageId) ?? {};
      if (fromMs !== undefined && !waits.has(attempt.messageId))
        waits.set(attempt.messageId, { user, fromMs, forMs: atMs - fromMs });
    }
    return [...waits.values()];
  }

  /** Whether its user was deleted after it may have been written: it may be dropped then. */
  wasDeleted({ user, producedMs }: AcceptedCall): boolean {
    return (this.deletions.get(user) ?? []).some(({ ackMs }) => ackMs >= producedMs);
  }

  /**
   * Of each event, the most moments in a minute at which it was written to a retry topic without a wait: due at once, or
   * before any copy that was written before had become due. A worker that was suspended writes at one moment what it had
   * in hand, which may be many copies. One that a crash leaves counts once, and not with all its waits.
   */
  mostWithoutWaitInAMinute(): Map<string, number> {
    const writes = new Map<string, Written[]>();
    for (const { envelope, timestampMs: atMs, dueMs } of this.#putOff()) {
      const name = `${envelope.destinationId} ${envelope.messageId}`;
      const known = writes.get(name);
      if (known === undefined) writes.set(name, [{ atMs, dueMs }]);
      else known.push({ atMs, dueMs });
    }
    return new Map(Array.from(writes, ([name, of]) => [name, mostIn(withoutWait(of), 60_000)]));
  }

  /** Of each record of a retry topic, how long after its time it was tried, put off again or given up. */
  latenessMs(destinationId: string): number[] {
    const looks = new Map<string, number[]>();
    const dues: { readonly name: string; readonly dueMs: number; readonly writtenMs: number }[] =
      [];
    const lookedAt = (name: string, atMs: number): void => {
      const known = looks.get(name);
      if (known === undefined) looks.set(name, [atMs]);
      else known.push(atMs);
    };
    for (const { messageId, atMs, ...attempt } of this.#endpoints.attempts)
      if (attempt.destinationId === destinationId) lookedAt(messageId, atMs);
    const { deadLetter } = this.#topology.topics;
    for (const partition of this.#brokers.topics.get(deadLetter)?.partitions ?? [])
      for (const { envelope, timestampMs } of eventsIn(partition))
        if (envelope.destinationId === destinationId) lookedAt(envelope.messageId, timestampMs);
    for (const { envelope, dueMs, timestampMs } of this.#putOff()) {
      if (envelope.destinationId !== destinationId) continue;
      lookedAt(envelope.messageId, timestampMs);
      dues.push({ name: envelope.messageId, dueMs, writtenMs: timestampMs });
    }
    return dues.map(({ name, dueMs, writtenMs }) => {
      const next = Math.min(...(looks.get(name) ?? []).filter((atMs) => atMs > writtenMs));
      return Math.max(next - dueMs, 0);
    });
  }

  /** Everything that was ever written to retry topics. */
  *#putOff(): Generator<LoggedEvent> {
    for (const tierMs of this.#topology.retryTiersMs) {
      const topic = this.#brokers.topics.get(this.#topology.retryTopic(tierMs));
      for (const partition of topic?.partitions ?? []) yield* eventsIn(partition);
    }
  }

  /** Records of topics on the way that their readers have not committed. */
  uncommitted(): string[] {
    const { topics, groups, retryTiersMs } = this.#topology;
    const places = [
      ...this.#topology.ingestTopics.map((topic) => [groups.router, topic] as const),
      ...[topics.delivery, ...retryTiersMs.map((tier) => this.#topology.retryTopic(tier))].map(
        (topic) => [groups.delivery, topic] as const,
      ),
      ...[...this.#brokers.topics.keys()]
        .filter((topic) => this.#topology.dedicatedDestination(topic) !== undefined)
        .map((topic) => [this.#topology.deliveryGroup(topic), topic] as const),
    ];
    return places.flatMap(([groupId, topic]) => {
      const { commits } = this.#brokers.group(groupId);
      const partitions = this.#brokers.topics.get(topic)?.partitions ?? [];
      return partitions.flatMap(({ index, highWatermark }) => {
        const left = highWatermark - (commits.get(`${topic}/${index}`)?.offset ?? 0);
        return left > 0 ? [`${topic}/${index}: ${left}`] : [];
      });
    });
  }

  /** A topic is about to be deleted, with what is in it. */
  loses(topic: string): void {
    const { commits } = this.#brokers.group(this.#topology.deliveryGroup(topic));
    for (const partition of this.#brokers.topics.get(topic)?.partitions ?? []) {
      const from = commits.get(`${topic}/${partition.index}`)?.offset ?? 0;
      for (const { envelope } of eventsIn(partition, from))
        this.lost.add(`${envelope.destinationId} ${envelope.messageId}`);
    }
  }

  #readLetters(): void {
    const topic = this.#topology.topics.deadLetter;
    for (const partition of this.#brokers.topics.get(topic)?.partitions ?? []) {
      const from = this.#read.get(partition.index) ?? 0;
      if (partition.highWatermark <= from) continue;
      this.#read.set(partition.index, partition.highWatermark);
      for (const { envelope, reason, timestampMs: atMs } of eventsIn(partition, from)) {
        const { destinationId, messageId, redrivenMs } = envelope;
        this.letters.set(`${destinationId} ${messageId}`, { reason, atMs, redrivenMs });
      }
    }
  }
}

interface Written {
  readonly atMs: number;
  readonly dueMs: number;
}

/** The moments of the writes that none before, which had become due, explains. */
function withoutWait(writes: readonly Written[]): number[] {
  const waiting: number[] = [];
  const times: number[] = [];
  for (const { atMs, dueMs } of writes.toSorted((a, b) => a.atMs - b.atMs)) {
    const source = waiting.findIndex((ms) => ms <= atMs);
    if (source >= 0) waiting.splice(source, 1);
    if ((source < 0 || dueMs <= atMs) && times.at(-1) !== atMs) times.push(atMs);
    waiting.push(dueMs);
  }
  return times;
}

/** The most of the times that lie within the duration of one another. */
function mostIn(times: readonly number[], durationMs: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  let most = 0;
  let first = 0;
  for (const [last, atMs] of sorted.entries()) {
    while (atMs - (sorted[first] ?? 0) > durationMs) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
