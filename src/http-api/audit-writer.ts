import { randomUUID } from 'node:crypto';
import type { AuditRecord } from '../event/audit-entry.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { Clock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import { inTime } from './in-time.ts';

export interface AuditWriterDeps {
  readonly topic: string;
  readonly producer: Pick<Producer, 'send'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export type Unwritten = Omit<AuditRecord, 'id' | 'at'>;

const notDone = 'not done: Kafka did not answer in time';

/** Records who did what. An action is written before it is done, so nothing is done that is not written. */
export class AuditWriter {
  readonly #deps: AuditWriterDeps;

  constructor(deps: AuditWriterDeps) {
    this.#deps = deps;
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
   * Records how an action ended. However long Kafka is away, it is written once Kafka is back; nobody waits for it.
   */
  tell(entry: Unwritten, error?: unknown): void {
    // What can never be written was logged by the producer, and the action is over in any case.
    this.#append(entry, error).catch(() => undefined);
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
}
