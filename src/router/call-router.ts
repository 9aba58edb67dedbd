import {
  audienceDestinationsHeader,
  audienceSourceHeader,
  detailHeader,
  encodeOrigin,
  originHeader,
  reasonHeader,
} from '../event/headers.ts';
import { userOf } from '../event/envelope.ts';
import { shortened } from '../event/last-answer.ts';
import type { Origin } from '../event/parse-call.ts';
import { shownError, type Rejection } from '../event/rejection.ts';
import type { TakenRecord } from '../kafka/consume/taken-record.ts';
import type { IncomingRecord, OutgoingRecord, TopicPartition } from '../kafka/record.ts';
import type { Source } from '../resources/resource.ts';
import { suppressedBy, type SuppressedUsers } from '../resources/suppressions/suppressed-users.ts';
import { schemaIdOf } from '../schemas/registered-schema.ts';
import type { Schemas } from '../schemas/schemas.ts';
import { CallBacklog } from './backlog.ts';
import type { Admitted, Duplicates } from './duplicates.ts';
import { HeldCalls, StalledRecords, type HeldCall } from './held-calls.ts';
import { Outbox, type OutboxOptions } from './outbox.ts';
import { arrivalOf, readCall, unknownSource, type ReadCall } from './read-call.ts';
import type { Routes } from './route-call.ts';

interface CallRouterOptions extends Omit<OutboxOptions, 'onRoom'> {
  readonly routes: Routes;
  /** Resolves when `routes` has everything that was written to the configuration before. */
  readonly caughtUp: () => Promise<void>;
  readonly rejectedTopic: string;
  /** The topic of audience syncs. Live calls go before its calls. */
  readonly audienceTopic: string;
  readonly suppressed: SuppressedUsers;
  readonly duplicates: Duplicates<PendingCall>;
  readonly schemas: Schemas;
}

/** A call that waits for something, with the record that it came in. */
export interface PendingCall {
  readonly record: TakenRecord;
  readonly read: ReadCall;
}

/**
 * Bound on copies that are not acknowledged. A call may become hundreds of records, so the intake's window
 * does not bound their memory. Five full batches keep the producer busy; further calls wait as the records
 * that they came in.
 */
const mostCopies = 5_000;
/** The part of that for syncs while no live call waits, so that a live call finds room. */
const mostAudienceCopies = 1_000;

type Held = HeldCall & PendingCall;

/**
 * Carries out the decision about each record, and finishes the record when all its copies are acknowledged.
 */
export class CallRouter {
  readonly #routes: Routes;
  readonly #outbox: Outbox;
  readonly #rejectedTopic: string;
  readonly #audienceTopic: string;
  readonly #suppressed: SuppressedUsers;
  readonly #duplicates: Duplicates<PendingCall>;
  readonly #schemas: Schemas;
  readonly #stalled = new StalledRecords();
  readonly #events: CallRouterOptions['events'];
  readonly #held: HeldCalls<Held>;
  readonly #backlog: CallBacklog<TakenRecord>;
  #stopped = false;

  constructor(options: CallRouterOptions) {
    const { routes, caughtUp, rejectedTopic, audienceTopic } = options;
    const { suppressed, duplicates, schemas, events } = options;
    this.#routes = routes;
    this.#outbox = new Outbox({
      ...options,
      onRoom: () => {
        this.#goOnWithMore();
      },
    });
    this.#rejectedTopic = rejectedTopic;
    this.#audienceTopic = audienceTopic;
    this.#backlog = new CallBacklog(({ topic }) => topic === audienceTopic);
    this.#suppressed = suppressed;
    this.#duplicates = duplicates;
    this.#schemas = schemas;
    this.#events = events;
    this.#held = new HeldCalls(
      caughtUp,
      ({ read }) => routes.hasAllOf(read),
      () => {
        this.#work();
      },
    );
  }

  /** Calls that wait for the configuration. */
  get heldCalls(): number {
    return this.#held.size;
  }

  /** Records that wait for a schema, with those behind them in their partitions. */
  get stalledRecords(): number {
    return this.#stalled.size;
  }

  /** True if everything that was begun is acknowledged. */
  get isIdle(): boolean {
    return this.#outbox.isEmpty;
  }

  /**
   * Begins nothing more. Records that wait, for Kafka or a schema, are left to the next owner of their
   * partition. Later records stay until their partition is dropped.
   */
  stop(): void {
    this.#stopped = true;
    this.#outbox.stop();
    this.#releaseWaiting(() => true);
    release(this.#stalled.takeAll());
  }

  /** Takes records of one partition, in order. */
  take(records: readonly TakenRecord[]): void {
    for (const record of records) this.#backlog.push(record);
    this.#work();
  }

  /**
   * Another member reads these partitions next, so waiting records are released at once. A call whose copies
   * are on their way is finished with them. Duplicates that wait for its end are released, because one of
   * them would take its place if it failed.
   */
  drop(partitions: readonly TopicPartition[]): void {
    this.#releaseWaiting((record) =>
      partitions.some(
        ({ topic, partition }) => topic === record.topic && partition === record.partition,
      ),
    );
    for (const partition of partitions) {
      release(this.#stalled.take(partition));
      release(this.#duplicates.drop(partition).map(({ record }) => record));
    }
  }

  /** The registry did not return this schema and is asked again. The partitions continue to wait. */
  schemaDelayed(id: number, error: unknown): void {
    this.#events.schemaDelayed(id, error, this.#stalled.waitingFor(id));
  }

  #releaseWaiting(isGone: (record: TakenRecord) => boolean): void {
    release(this.#backlog.takeOut(isGone));
    release(this.#held.takeOut(({ record }) => isGone(record)).map(({ record }) => record));
  }

  #work(): void {
    if (this.#stopped) return;
    while (this.#outbox.counted < mostCopies) {
      const held = this.#held.take();
      if (held !== undefined) {
        this.#goOn(held);
        continue;
      }
      const record = this.#backlog.shift(this.#outbox.counted < mostAudienceCopies);
      if (record === undefined) break;
      try {
        this.#take(record);
      } catch (error) {
        this.#fail(record, error);
      }
    }
    this.#held.look();
  }

  #take(record: TakenRecord): void {
    if (this.#stalled.has(record)) {
      this.#stalled.add(record);
      this.#askAhead(record);
      return;
    }
    const read = readCall(record, this.#schemas, this.#audienceTopic);
    if (read.awaitedSchema !== undefined) {
      this.#stall(record, read.awaitedSchema);
      return;
    }
    if (read.rejection !== undefined) {
      this.#reject(record, read.rejection);
      return;
    }
    const mustWait = this.#held.size > 0 && this.#held.waitsFor(userOf(read.call));
    if (mustWait || !this.#routes.hasAllOf(read)) this.#hold(record, read);
    else this.#goOn({ record, read });
  }

  /** Copies the record out of the fetch response, because it may wait until Kafka is back. */
  #hold(record: TakenRecord, read: ReadCall): void {
    record.detach();
    this.#held.hold({ record, read, user: userOf(read.call) });
  }

  #stall(record: TakenRecord, schemaId: number): void {
    this.#stalled.add(record);
    void this.#schemas.settled(schemaId).then(() => {
      this.#backlog.putBack(this.#stalled.take(record));
      this.#work();
    });
  }

  /**
   * Loading an unknown schema takes up to a second. One after the other, a window of them would take minutes.
   */
  #askAhead({ value }: TakenRecord): void {
    const id = schemaIdOf(value);
    if (id !== undefined && this.#schemas.find(id) === undefined) void this.#schemas.settled(id);
  }

  /** The call waits for nothing, or no longer. */
  #goOn({ record, read }: PendingCall): void {
    try {
      const source = this.#routes.sourceOf(read);
      if (source === undefined) this.#reject(record, unknownSource(read));
      else this.#route(record, read, source);
    } catch (error) {
      this.#fail(record, error);
    }
  }

  #route(record: TakenRecord, read: ReadCall, source: Source): void {
    if (suppressedBy(this.#suppressed, read.call) !== undefined) {
      this.#events.suppressed();
      record.finish();
      return;
    }
    const copies = this.#routes.route(read, source);
    // Not remembered, because a destination may want a later repetition.
    if (copies.length === 0) {
      this.#events.unwanted();
      record.finish();
      return;
    }
    const verdict = this.#duplicates.judge(record, source.id, read, { record, read });
    if (verdict === 'duplicate') this.#dropDuplicate(record);
    else if (verdict !== 'waiting') this.#send(record, copies, verdict);
  }

  #dropDuplicate(record: TakenRecord): void {
    this.#events.duplicate();
    record.finish();
  }

  #send(
    record: TakenRecord,
    copies: readonly OutgoingRecord[],
    admitted: Admitted<PendingCall> | undefined,
  ): void {
    this.#outbox.send(record, copies, (refused) => {
      if (refused === undefined) {
        this.#events.routed(record, copies.length);
        record.finish();
        for (const waiter of admitted?.acknowledge() ?? []) this.#dropDuplicate(waiter.record);
      } else {
        this.#reject(record, { reason: 'unwritable', detail: refused.message });
        for (const waiter of admitted?.forget() ?? []) this.#goOn(waiter);
      }
    });
  }

  #goOnWithMore(): void {
    const { counted } = this.#outbox;
    const isUrgent = this.#held.settled > 0 || this.#backlog.isUrgent;
    const isMore = this.#held.settled > 0 || this.#backlog.size > 0;
    if (isMore && counted <= (isUrgent ? mostCopies : mostAudienceCopies) / 2) this.#work();
  }

  /**
   * A record that cannot even be rejected is never finished: its partition stops before the record is lost.
   * Nothing more is done about it, so nothing has to wait for it when the partition moves.
   */
  #reject(record: TakenRecord, rejection: Rejection): void {
    const { origin } = arrivalOf(record);
    const topics = { rejected: this.#rejectedTopic, audience: this.#audienceTopic };
    const rejected = rejectedRecord(topics, record, origin, rejection);
    this.#outbox.send(record, [rejected], (refused) => {
      if (refused === undefined) {
        this.#events.rejected(record, rejection);
        record.finish();
      } else {
        this.#events.partitionStuck(record, refused);
        record.release();
      }
    });
  }

  /**
   * A defect in our code must not stop a partition. The record waits in `ingest.rejected` for a corrected
   * version.
   */
  #fail(record: TakenRecord, error: unknown): void {
    this.#events.failed(record, error);
    const detail = `The router failed: ${shownError(error)}.`;
    this.#reject(record, { reason: 'unroutable', detail });
  }
}

/** Leaves records to the next owners of their partitions. */
function release(records: readonly TakenRecord[]): void {
  for (const record of records) record.release();
}

/** The longest detail. It may name fields of the call, whose names have any length. */
const mostDetailCharacters = 1_000;

/**
 * Key, value and headers as they came, with the reason and the record's first place. Without its own headers if
 * they are too many, because nobody could read the copy then. Headers that only a sync
 * may write are removed from records of other topics: any producer may name `ingest.audience` as the origin
 * of its record, and a redrive would write those headers there.
 */
function rejectedRecord(
  topics: { readonly rejected: string; readonly audience: string },
  record: IncomingRecord,
  origin: Origin,
  { reason, detail }: Rejection,
): OutgoingRecord {
  const isOfSync = record.topic === topics.audience;
  const fits = reason !== 'too-many-headers';
  const own = Object.entries(fits ? record.headers : {}).filter(
    ([name]) => isOfSync || !(name === audienceSourceHeader || name === audienceDestinationsHeader),
  );
  const headers = {
    // Kafka allows headers without a value, which kafkajs cannot write.
    ...Object.fromEntries(own.map(([name, value]) => [name, value ?? Buffer.alloc(0)])),
    [reasonHeader]: reason,
    [detailHeader]: shortened(detail, mostDetailCharacters),
    [originHeader]: encodeOrigin(origin),
  };
  return { topic: topics.rejected, key: record.key, value: record.value, headers };
}
