import { decodeAuditEntry, destinationsIn, type AuditEntry } from '../event/audit-entry.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { startFollower, type Follower, type FollowerOptions } from '../kafka/follow/follower.ts';
import { writtenRanges } from '../kafka/read-range.ts';
import type { RunProgress } from '../operations/runs.ts';

/** A run, as far as the audit tells of it. */
export interface ToldRun {
  /** None: its events are of all destinations, or of no single one. */
  readonly destinations: readonly string[];
  /** The customer whose events it sends, if the audit names one. */
  readonly customer: string | undefined;
  readonly progress: RunProgress;
}

const mostRemembered = 10_000;
/** The audit has a year of entries, and nobody asks for a run of long ago here. */
const mostRead = 50_000;

const elsewhere = 'It runs in another process, or was cut off.';

/** Runs by the audit: also those that another replica, the console or a command has begun. */
export class ToldRuns {
  readonly #runs = new Map<string, ToldRun>();

  apply(entry: AuditEntry): void {
    const { id, isRun, customer, began, outcome, sent = 0, became, detail } = entry;
    if (isRun === true && !this.#runs.has(id)) {
      const progress = { id, state: 'running', found: 0, sent: 0, detail: elsewhere } as const;
      this.#remember({ destinations: destinationsIn(entry), customer, progress });
    }
    const run = began === undefined ? undefined : this.#runs.get(began);
    if (run === undefined) return;
    this.#remember({
      ...run,
      progress: {
        id: run.progress.id,
        state: outcome === undefined ? 'done' : 'failed',
        found: sent,
        sent,
        ...(became === undefined ? {} : { outcome: became }),
        ...(detail === undefined ? {} : { detail }),
      },
    });
  }

  find(id: string): ToldRun | undefined {
    return this.#runs.get(id);
  }

  #remember(run: ToldRun): void {
    this.#runs.set(run.progress.id, run);
    const [oldest] = this.#runs.keys();
    if (oldest !== undefined && this.#runs.size > mostRemembered) this.#runs.delete(oldest);
  }
}

/** Follows the audit from some time before now on. */
export async function followRuns(
  kafka: KafkaClient,
  options: Pick<FollowerOptions, 'topic' | 'log' | 'maxWaitMs' | 'freshMs'>,
  runs: ToldRuns,
): Promise<Pick<Follower, 'stop'>> {
  const [range] = await writtenRanges(kafka, options.topic);
  const from = range && Math.max(range.start, range.end - mostRead);
  const follower = startFollower(kafka, {
    ...options,
    from: () => from,
    onRecord: ({ value }) => {
      const entry = decodeAuditEntry(value);
      if (entry !== undefined) runs.apply(entry);
    },
  });
  await follower.loaded;
  return follower;
}
