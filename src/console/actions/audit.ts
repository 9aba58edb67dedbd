import { randomUUID } from 'node:crypto';
import {
  decodeAuditEntry,
  shownEntry,
  type AuditEntry,
  type AuditRecord,
} from '../../event/audit-entry.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import { followTable, type FollowedTable } from '../../kafka/follow/table.ts';
import type { Producer } from '../../kafka/produce/producer.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { CustomerLinks } from '../access/customer-link.ts';
import { inTime } from '../api/turns.ts';

export interface AuditDeps {
  readonly kafka: KafkaClient;
  readonly topic: string;
  readonly producer: Pick<Producer, 'send'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** For each record, also of those that are too old to be shown. */
  readonly onRecord: (record: AuditRecord) => void;
}

/** The content of the audit topic: what was done, and who may come in. */
interface Audited {
  readonly entries: AuditEntry[];
  readonly links: CustomerLinks;
}

type Unwritten = Omit<AuditRecord, 'id' | 'at'>;

/** The topic has a year of them. */
const mostShown = 10_000;
const seldomMs = 3_600_000;
const mostSeldom = 10_000;

const notDone = 'not done: Kafka did not answer in time';

/** Records who did what. An action is written before it is done, so nothing is done that is not written. */
export class Audit {
  readonly #deps: AuditDeps;
  readonly #audited: FollowedTable<Audited, undefined>;
  /** The time at which each was last written, the oldest first. */
  readonly #seldom = new Map<string, number>();

  private constructor(deps: AuditDeps, audited: FollowedTable<Audited, undefined>) {
    this.#deps = deps;
    this.#audited = audited;
  }

  static async follow(deps: AuditDeps): Promise<Audit> {
    const { kafka, topic, log, clock, onRecord } = deps;
    const audited = followTable(
      kafka,
      { topic, log, maxWaitMs: 500 },
      {
        create: (): Audited => ({ entries: [], links: new CustomerLinks() }),
        apply: ({ entries, links }, { value }) => {
          const record = decodeAuditEntry(value);
          if (record === undefined) return;
          entries.push(shownEntry(record));
          if (entries.length > mostShown) entries.shift();
          links.apply(record, clock.now());
          onRecord(record);
        },
      },
    );
    await audited.loaded;
    return new Audit(deps, audited);
  }

  /** The newest first. */
  entries(): readonly AuditEntry[] {
    return this.#audited.current.entries.toReversed();
  }

  get links(): CustomerLinks {
    return this.#audited.current.links;
  }

  /**
   * Resolves to its id when Kafka has it. An entry that Kafka takes too late for whoever asked is followed by one that says
   * that nothing was done.
   * @throws ProblemError 503 when Kafka has not taken it within ten seconds
   */
  async write(entry: Unwritten): Promise<string> {
    const writing = this.#append(entry);
    try {
      return await inTime(writing);
    } catch (error) {
      // Not with what makes a link work.
      const { user, action } = entry;
      const late = { user, action, outcome: 'failed', detail: notDone } as const;
      void writing.then(() => this.#append(late)).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Records how an operator's action ended. However long Kafka is away, it is written once Kafka is back; nobody waits
   * for it.
   */
  tell(entry: Unwritten, error?: unknown): void {
    // What can never be written was logged by the producer, and the action is over in any case.
    this.#append(entry, error).catch(() => undefined);
  }

  /** Records an action that is allowed as often as one likes: the same one is written once an hour. */
  tellSeldom(entry: Unwritten): void {
    const key = JSON.stringify(entry);
    const nowMs = this.#deps.clock.now();
    const toldMs = this.#seldom.get(key);
    if (toldMs !== undefined && Math.abs(nowMs - toldMs) < seldomMs) return;
    this.#seldom.delete(key);
    const [oldest] = this.#seldom.keys();
    if (oldest !== undefined && this.#seldom.size >= mostSeldom) this.#seldom.delete(oldest);
    this.#seldom.set(key, nowMs);
    this.tell(entry);
  }

  async #append(entry: Unwritten, error?: unknown): Promise<string> {
    const { producer, topic, clock, log } = this.#deps;
    const at = new Date(clock.now()).toISOString();
    const why = error === undefined ? {} : { err: error };
    const { user, name, action, destination, detail, outcome, sent } = entry;
    const shown = { user, name, action, destination, detail, outcome, sent };
    log.info({ ...shown, ...why }, 'an entry is written to the audit');
    const id = randomUUID();
    const value = JSON.stringify({ id, at, ...entry } satisfies AuditRecord);
    await producer.send([{ topic, key: entry.user, value }]);
    return id;
  }

  stop(): Promise<void> {
    return this.#audited.stop();
  }
}
