import {
  fetchExchange,
  finderIn,
  type FetchAnswer,
  type FetchedPartition,
  type FetchRequest,
} from '../protocol/fetch.ts';
import type { BrokerAddress } from '../protocol/metadata.ts';
import { graceMs, type Connections, type Purpose } from './connections.ts';

/** The fetches of several clusters of a process, over one connection to each broker. */
export class SharedFetches {
  readonly #connections: Connections;
  readonly #purpose: Purpose;
  readonly #rounds = new Map<string, FetchRounds>();

  constructor(connections: Connections, purpose: Purpose) {
    this.#connections = connections;
    this.#purpose = purpose;
  }

  /** Answers once there is something for this request, or its time is over. */
  fetch(member: object, broker: BrokerAddress, request: FetchRequest): Promise<FetchAnswer> {
    const key = `${broker.host}:${broker.port}`;
    let rounds = this.#rounds.get(key);
    if (rounds === undefined) {
      rounds = new FetchRounds((together) =>
        this.#connections
          .to(broker, this.#purpose)
          .send(fetchExchange(together), together.maxWaitMs + graceMs),
      );
      this.#rounds.set(key, rounds);
    }
    return rounds.fetch(member, request);
  }

  /** That one asks for nothing more. */
  forget(member: object): void {
    for (const rounds of this.#rounds.values()) rounds.forget(member);
  }
}

/** A reader that has just been answered mostly asks for more within this time. */
const gatherMs = 5;
/** A reader that was answered so recently will ask again soon: without it, a round takes `shortWaitMs` only. */
const backSoonMs = 1_000;
const shortWaitMs = 10;
/** Somebody else who is missing may be paused, and waits for the end of the round when it goes on. */
const missingWaitMs = 100;
/** A reader that is missing for longer is not expected in a round. */
const forgottenMs = 30_000;

/** A request that has no answer yet. */
interface Wish {
  readonly member: object;
  readonly request: FetchRequest;
  readonly places: readonly Place[];
  readonly untilMs: number;
  resolve(answer: FetchAnswer): void;
  reject(error: unknown): void;
}

/** A partition in a request. */
interface Place {
  readonly topicId: string;
  readonly partition: number;
}

/**
 * Puts the fetches of several readers of one broker together, one request at a time. A connection for each reader
 * would be as many as there are dedicated topics, and over one connection each would wait for the others' ends. A
 * wish stays in round after round until there is something for it, or its time is over, so that readers whose
 * partitions are quiet cost nothing while others are busy.
 */
export class FetchRounds {
  readonly #send: (request: FetchRequest) => Promise<FetchAnswer>;
  /** The reader whose turn was longest ago comes first: a broker fills its answer with the first partitions first. */
  #wishes: readonly Wish[] = [];
  /** The time at which each reader was answered last. Missing: it is in the round, or has not been answered yet. */
  readonly #answeredAtMs = new Map<object, number>();
  #isUnderWay = false;
  #gathering: NodeJS.Timeout | undefined;

  constructor(send: (request: FetchRequest) => Promise<FetchAnswer>) {
    this.#send = send;
  }

  fetch(member: object, request: FetchRequest): Promise<FetchAnswer> {
    return new Promise((resolve, reject) => {
      const untilMs = performance.now() + request.maxWaitMs;
      const places = placesIn(request);
      this.#wishes = [...this.#wishes, { member, request, places, untilMs, resolve, reject }];
      this.#answeredAtMs.delete(member);
      this.#begin();
    });
  }

  /** A reader that is closed is not waited for. */
  forget(member: object): void {
    this.#wishes = this.#wishes.filter((wish) => wish.member !== member);
    this.#answeredAtMs.delete(member);
    this.#begin();
  }

  /** Begins a round, at once if everybody is there who was answered just now. */
  #begin(): void {
    if (this.#isUnderWay || this.#wishes.length === 0) return;
    const nowMs = performance.now();
    const isExpected = [...this.#answeredAtMs.values()].some((atMs) => nowMs - atMs < gatherMs);
    if (!isExpected) void this.#round();
    else
      this.#gathering ??= setTimeout(() => {
        this.#gathering = undefined;
        if (!this.#isUnderWay && this.#wishes.length > 0) void this.#round();
      }, gatherMs);
  }

  async #round(): Promise<void> {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#isUnderWay = true;
    const asked = distinct(this.#wishes);
    try {
      this.#answer(asked, await this.#send(this.#together(asked)));
    } catch (error) {
      for (const wish of asked) this.#end(wish)?.reject(error);
    } finally {
      this.#isUnderWay = false;
      this.#begin();
    }
  }

  #together(asked: readonly Wish[]): FetchRequest {
    const requests = asked.map(({ request }) => request);
    const racks = requests.map(({ rack }) => rack);
    return {
      maxWaitMs: this.#waitMs(asked),
      maxBytes: Math.max(...requests.map(({ maxBytes }) => maxBytes)),
      // Where one of them wants to hear the leader itself, all do.
      rack: racks.includes('') ? '' : (racks[0] ?? ''),
      topics: requests.flatMap(({ topics }) => topics),
    };
  }

  #waitMs(asked: readonly Wish[]): number {
    const nowMs = performance.now();
    let waitMs = asked.length < this.#wishes.length ? shortWaitMs : Infinity;
    for (const { untilMs } of asked) waitMs = Math.min(waitMs, Math.ceil(untilMs - nowMs));
    for (const [member, answeredAtMs] of this.#answeredAtMs) {
      const missingMs = nowMs - answeredAtMs;
      if (missingMs >= forgottenMs) this.#answeredAtMs.delete(member);
      else waitMs = Math.min(waitMs, missingMs < backSoonMs ? shortWaitMs : missingWaitMs);
    }
    return Math.max(0, waitMs);
  }

  #answer(asked: readonly Wish[], { partitions, ...answer }: FetchAnswer): void {
    const nowMs = performance.now();
    const find = finderIn(asked.flatMap(({ places }) => places));
    const parts = new Map<Place, FetchedPartition>();
    for (const part of partitions) {
      const place = find(part);
      if (place !== undefined) parts.set(place, part);
    }
    for (const wish of asked) {
      const own = wish.places.flatMap((place) => parts.get(place) ?? []);
      // A little early, so that readers that began at different times end together: each end is a request.
      const earlyMs = wish.request.maxWaitMs / 4;
      const isOver = answer.error !== 'NONE' || nowMs >= wish.untilMs - earlyMs - 1;
      if (isOver || own.some(bringsSomething))
        this.#end(wish)?.resolve({ ...answer, partitions: own });
    }
  }

  /** Undefined if the reader was closed meanwhile. */
  #end(wish: Wish): Wish | undefined {
    if (!this.#wishes.includes(wish)) return undefined;
    this.#wishes = this.#wishes.filter((each) => each !== wish);
    this.#answeredAtMs.set(wish.member, performance.now());
    return wish;
  }
}

/** The wishes without those for a topic that an earlier one is for: a request names each partition once. */
function distinct(wishes: readonly Wish[]): readonly Wish[] {
  const named = new Set<string>();
  return wishes.filter(({ request: { topics } }) => {
    if (topics.some(({ id }) => named.has(id))) return false;
    for (const { id } of topics) named.add(id);
    return true;
  });
}

function placesIn({ topics }: FetchRequest): Place[] {
  return topics.flatMap(({ id: topicId, partitions }) =>
    partitions.map(({ partition }) => ({ topicId, partition })),
  );
}

function bringsSomething(part: FetchedPartition): boolean {
  const { error, records, preferredReplica, diverging } = part;
  return error !== 'NONE' || records.length > 0 || preferredReplica >= 0 || diverging !== undefined;
}
