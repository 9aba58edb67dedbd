import { setTimeout as delay } from 'node:timers/promises';
import { asError } from '../errors.ts';
import type { ClusterClient } from '../kafka/cluster/cluster.ts';
import { followTable, type FollowedTable } from '../kafka/follow/table.ts';
import type { Clock, Timer } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import { Pauses } from '../resources/pauses/pauses.ts';
import { reportsSinceMs } from '../status/read-status.ts';
import { Reports } from '../status/reports.ts';
import type { Topology } from '../topology.ts';
import type { KnownStates } from './shown-state.ts';

interface AskedStatesDeps {
  readonly kafka: ClusterClient;
  readonly topology: Pick<Topology, 'topics'>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Followed {
  readonly reports: FollowedTable<Reports, never>;
  readonly pauses: FollowedTable<Pauses, never>;
}

/** So long after the last question, the topics are followed. Somebody who looks at a page asks again sooner. */
const keptMs = 300_000;
/** A destination's fields are worth more than its state: an answer with both waits no longer for the latter. */
const soonMs = 2_000;
/** The configuration is followed as closely. */
const maxWaitMs = 500;

/**
 * Follows what workers report and which destinations are paused, but only while somebody asks for it: workers write all
 * the time, and an API that nobody asks is to cost nothing.
 */
export class AskedStates {
  readonly #deps: AskedStatesDeps;
  #followed: Followed | undefined;
  #end: Timer | undefined;

  constructor(deps: AskedStatesDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves once nothing that was written 2 s ago is missing. The first question reads some minutes of reports.
   * @throws PostriderError `kafka-refused`
   */
  async known(): Promise<KnownStates> {
    const { clock, log } = this.#deps;
    this.#end?.cancel();
    this.#end = clock.after(keptMs, () => void this.stop());
    const followed = (this.#followed ??= this.#follow());
    const { reports, pauses } = followed;
    try {
      await Promise.all([fresh(reports), fresh(pauses)]);
    } catch (error) {
      // Whoever asks next has it tried again.
      if (this.#followed === followed) {
        log.warn({ reason: asError(error).message }, 'the states of destinations cannot be read');
        await this.stop();
      }
      throw error;
    }
    return { reports: reports.current, pauses: pauses.current };
  }

  /** The same, but undefined if it cannot be known soon. */
  async soon(): Promise<KnownStates | undefined> {
    return Promise.race([
      this.known().catch(() => undefined),
      delay(soonMs, undefined, { ref: false }),
    ]);
  }

  async stop(): Promise<void> {
    const followed = this.#followed;
    this.#followed = undefined;
    this.#end?.cancel();
    await Promise.all([followed?.reports.stop(), followed?.pauses.stop()]);
  }

  #follow(): Followed {
    const { kafka, topology, clock, log } = this.#deps;
    const { destinationStatus, pauses } = topology.topics;
    const sinceMs = reportsSinceMs(clock.now());
    return {
      reports: followTable<Reports, never>(
        kafka,
        { topic: destinationStatus, log, maxWaitMs, sinceMs },
        {
          create: () => new Reports(),
          apply: (table, { key, value }) => {
            table.put(key?.toString() ?? '', value);
            return undefined;
          },
        },
      ),
      pauses: followTable<Pauses, never>(
        kafka,
        { topic: pauses, log, maxWaitMs },
        {
          create: () => new Pauses(),
          apply: (table, record) => {
            table.apply(record);
            return undefined;
          },
        },
      ),
    };
  }
}

async function fresh(table: Followed[keyof Followed]): Promise<void> {
  await table.loaded;
  if (!table.isFresh()) await table.caughtUp();
}
