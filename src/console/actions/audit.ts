import {
  decodeAuditEntry,
  shownEntry,
  type AuditEntry,
  type AuditRecord,
} from '../../event/audit-entry.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import { followTable, type FollowedTable } from '../../kafka/follow/table.ts';
import type { Clock } from '../../ops/clock.ts';
import { AuditWriter, type AuditWriterDeps, type Unwritten } from '../../http-api/audit-writer.ts';
import { CustomerLinks } from '../access/customer-link.ts';

export interface AuditDeps extends AuditWriterDeps {
  readonly kafka: KafkaClient;
  /** For each record, also of those that are too old to be shown. */
  readonly onRecord: (record: AuditRecord) => void;
}

/** The content of the audit topic: what was done, and who may come in. */
interface Audited {
  readonly entries: AuditEntry[];
  readonly links: CustomerLinks;
}

/** The topic has a year of them. */
const mostShown = 10_000;
const seldomMs = 3_600_000;
const mostSeldom = 10_000;

/** Records who did what in the console, and knows what was recorded. */
export class Audit extends AuditWriter {
  readonly #clock: Clock;
  readonly #audited: FollowedTable<Audited, undefined>;
  /** The time at which each was last written, the oldest first. */
  readonly #seldom = new Map<string, number>();

  private constructor(deps: AuditDeps, audited: FollowedTable<Audited, undefined>) {
    super(deps);
    this.#clock = deps.clock;
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

  /** Records an action that is allowed as often as one likes: the same one is written once an hour. */
  tellSeldom(entry: Unwritten): void {
    const key = JSON.stringify(entry);
    const nowMs = this.#clock.now();
    const toldMs = this.#seldom.get(key);
    if (toldMs !== undefined && Math.abs(nowMs - toldMs) < seldomMs) return;
    this.#seldom.delete(key);
    const [oldest] = this.#seldom.keys();
    if (oldest !== undefined && this.#seldom.size >= mostSeldom) this.#seldom.delete(oldest);
    this.#seldom.set(key, nowMs);
    this.tell(entry);
  }

  stop(): Promise<void> {
    return this.#audited.stop();
  }
}
