import { randomUUID } from 'node:crypto';
import { asError } from '../errors.ts';
import type { AuditAction } from '../event/audit-entry.ts';
import type { AuditWriter, Unwritten } from '../http-api/audit-writer.ts';
import { ProblemError } from '../http-api/problem.ts';
import type { KafkaClient } from '../kafka/client.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import { makeDedicatedTopics, recordsOf } from '../resources/apply/apply.ts';
import { changeInWords } from '../resources/apply/changes-in-words.ts';
import { identityRecords } from '../resources/apply/identities.ts';
import type { Change } from '../resources/apply/plan.ts';
import type { ConfigWriter } from '../resources/config/config-writer.ts';
import { recordKey } from '../resources/config/stored.ts';
import type { Topology } from '../topology.ts';
import type { Caller } from './access/caller.ts';
import type { PlannedChange } from './plan-change.ts';

export interface ChangeQueueDeps {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly writer: ConfigWriter;
  readonly producer: Pick<Producer, 'send'>;
  readonly audit: Pick<AuditWriter, 'write' | 'tell'>;
  /** Changes that were written together. */
  onWritten(changes: number): void;
}

/** A change as somebody asked for it. */
export interface Asked {
  readonly caller: Caller;
  readonly action: AuditAction;
  /** By what is stored when it is called. */
  decide(): PlannedChange;
}

export interface Done extends PlannedChange {
  /** A reader of `config` up to this offset has it. */
  readonly offset: number;
}

/** A change that waits for its turn. */
interface Waiting extends Asked {
  readonly id: string;
  /** Nobody waits for it any more, and it has not begun. */
  isGone: boolean;
  hasBegun: boolean;
  resolve(done: Done): void;
  reject(error: unknown): void;
}

/** One record batch takes them, and so one round trip to Kafka. */
const mostTogether = 200;
/** More are refused: with a few milliseconds each they would wait too long. */
const mostWaiting = 1_000;
const patienceMs = 10_000;

/**
 * Changes of many requests. Those that wait while others are written are decided and written together, unless one
 * depends on another. Each is decided by what is stored, with no other writer between.
 */
export class ChangeQueue {
  readonly #deps: ChangeQueueDeps;
  #waiting: Waiting[] = [];
  #isBusy = false;

  constructor(deps: ChangeQueueDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves when every role can read the change.
   * @throws ProblemError 503 if Kafka is away, and whatever `decide` throws
   */
  async change(asked: Asked): Promise<Done> {
    if (this.#waiting.length >= mostWaiting)
      throw new ProblemError(503, 'Too many changes wait to be written; try again in a moment.', {
        retryAfterS: 1,
      });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.isGone = true;
        reject(waiting.hasBegun ? unknownEnd() : notBegun());
      }, patienceMs);
      const waiting: Waiting = {
        ...asked,
        id: randomUUID(),
        isGone: false,
        hasBegun: false,
        resolve: (done) => {
          clearTimeout(timer);
          resolve(done);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(asError(error));
        },
      };
      this.#waiting.push(waiting);
      void this.#work();
    });
  }

  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    while (this.#waiting.length > 0) await this.#writeTogether();
    this.#isBusy = false;
  }

  async #writeTogether(): Promise<void> {
    let together: readonly Decided[] = [];
    let after: Parameters<Producer['send']>[0] = [];
    try {
      const { offset } = await this.#deps.writer.change(async () => {
        await this.#deps.writer.hold();
        together = this.#decide();
        const changes = together.map(({ planned }) => planned.change);
        return {
          records: recordsOf(changes),
          result: undefined,
          before: async () => {
            for (const { waiting } of together) waiting.hasBegun = true;
            after = await this.#prepare(together, changes);
          },
        };
      });
      if (after.length > 0) await this.#deps.producer.send(after);
      this.#deps.onWritten(together.length);
      for (const { waiting, planned } of together) this.#end(waiting, { ...planned, offset });
    } catch (error) {
      // Without a decision, nothing of what waits could be decided.
      const failed = together.length > 0 ? together.map(({ waiting }) => waiting) : this.#waiting;
      for (const waiting of [...failed]) this.#fail(waiting, error);
    }
  }

  /** The changes that wait, as far as they do not depend on each other. What cannot be done ends here. */
  #decide(): readonly Decided[] {
    const together: Decided[] = [];
    const touched = new Set<string>();
    for (const waiting of this.#waiting.slice(0, mostTogether)) {
      if (waiting.isGone) {
        this.#remove(waiting);
        continue;
      }
      // The validity of destinations depends on sources.
      if (touched.has('Source')) break;
      try {
        const planned = waiting.decide();
        const { change } = planned;
        const touches = touchedBy(change);
        if (change.kind === 'Source' && together.length > 0) break;
        if (touches.some((each) => touched.has(each))) continue;
        for (const each of touches) touched.add(each);
        together.push({ waiting, planned });
      } catch (error) {
        this.#fail(waiting, error);
      }
    }
    return together;
  }

  /** The audit has them, and everything that must be there before a destination. Returns what is written behind it. */
  async #prepare(
    together: readonly Decided[],
    changes: readonly Change[],
  ): Promise<Parameters<Producer['send']>[0]> {
    const { kafka, topology, producer, audit } = this.#deps;
    const written = together.filter(({ planned }) => planned.change.value !== undefined);
    await Promise.all(
      written.map(({ waiting, planned }) => audit.write(entryOf(waiting, planned))),
    );
    await makeDedicatedTopics({ kafka, topology }, changes);
    const { before, after } = identityRecords(changes, [], topology.topics.pauses);
    if (before.length > 0) await producer.send(before);
    return after;
  }

  #end(waiting: Waiting, done: Done): void {
    this.#remove(waiting);
    waiting.resolve(done);
  }

  #fail(waiting: Waiting, error: unknown): void {
    this.#remove(waiting);
    if (waiting.hasBegun) {
      const { user, name } = waiting.caller;
      const { action } = waiting;
      const detail = asError(error).message;
      const who = name === undefined ? { user } : { user, name };
      this.#deps.audit.tell({ ...who, via: 'api', action, outcome: 'failed', detail }, error);
    }
    waiting.reject(error);
  }

  #remove(waiting: Waiting): void {
    this.#waiting = this.#waiting.filter((each) => each !== waiting);
  }
}

interface Decided {
  readonly waiting: Waiting;
  readonly planned: PlannedChange;
}

/** The things that others which are decided at the same time may depend on: the id, and how many the customer has. */
function touchedBy({ kind, id, resource }: Change): readonly string[] {
  if (kind === 'Source') return ['Source'];
  const customer = resource?.kind === 'Destination' ? resource.customer : undefined;
  return [recordKey({ kind, id }), ...(customer === undefined ? [] : [`customer/${customer}`])];
}

function entryOf({ caller, action }: Asked, { change }: PlannedChange): Unwritten {
  const { user, name } = caller;
  const { kind, id } = change;
  return {
    user,
    ...(name === undefined ? {} : { name }),
    via: 'api',
    action,
    ...(kind === 'Destination' ? { destination: id } : {}),
    detail: changeInWords(change),
  };
}

function notBegun(): ProblemError {
  return new ProblemError(503, 'Kafka has not answered for ten seconds; nothing was changed.', {
    retryAfterS: 5,
  });
}

function unknownEnd(): ProblemError {
  return new ProblemError(
    503,
    'Kafka has not confirmed the change for ten seconds: it may be in force or not, so get it before you repeat the change.',
    { retryAfterS: 5 },
  );
}
