import { PostriderError } from '../../errors.ts';
import type { ClusterClient } from '../../kafka/cluster/cluster.ts';
import { startFollower } from '../../kafka/follow/follower.ts';
import { readRange } from '../../kafka/read-range.ts';
import type { IncomingRecord } from '../../kafka/record.ts';
import type { Logger } from '../../ops/log.ts';
import type { Topology } from '../../topology.ts';
import { decodePause, readPauseKey, type Pause } from './pause.ts';

type PauseRecord = Pick<IncomingRecord, 'key' | 'value' | 'timestampMs'>;

/** A record that is no tombstone, and when it was appended. */
interface Told {
  readonly pause: Pause;
  readonly timestampMs: number;
}

/** What the records of the topic `pauses` say, by destination. */
export class Pauses {
  readonly #paused = new Map<string, Told>();
  readonly #resumed = new Map<string, Told>();
  readonly #endedMs = new Map<string, number>();

  /** @returns the destination whose pause the record is about */
  apply({ key, value, timestampMs }: PauseRecord): string | undefined {
    const pause = decodePause(value);
    const told = pause === undefined ? undefined : { pause, timestampMs };
    const { says, destinationId } = readPauseKey(key?.toString() ?? '');
    switch (says) {
      case 'paused':
        put(this.#paused, destinationId, told);
        return destinationId;
      case 'resumed':
        put(this.#resumed, destinationId, told);
        return undefined;
      case 'ended':
        put(this.#endedMs, destinationId, told?.timestampMs);
        return undefined;
    }
  }

  has(destinationId: string): boolean {
    return this.#paused.has(destinationId);
  }

  get(destinationId: string): Pause | undefined {
    return this.#paused.get(destinationId)?.pause;
  }

  /** Since when it is not paused any more, while events that were kept for it may be left. ISO 8601. */
  resumedSince(destinationId: string): string | undefined {
    return this.#resumed.get(destinationId)?.pause.since;
  }

  /**
   * Events that were kept before this time are not for the next `resume` of these destinations, by whichever says the earlier
   * time, Kafka's clock or that of whoever paused them; epoch milliseconds. Undefined: not known, so all that is kept
   * may be for it.
   */
  keptSinceMs(destinationIds: Iterable<string>): number | undefined {
    let firstMs = Infinity;
    for (const id of destinationIds) {
      const told = [this.#paused.get(id), this.#resumed.get(id)].filter(
        (each) => each !== undefined,
      );
      if (told.length === 0) return undefined;
      for (const { pause, timestampMs } of told) {
        if (pause.keptSince === undefined) return undefined;
        firstMs = Math.min(firstMs, timestampMs, Date.parse(pause.keptSince));
      }
    }
    return firstMs;
  }

  /** A pause that begins now: events that a former one has left are kept in it too. */
  begin(destinationId: string, nowMs: number): Pause {
    const since = new Date(nowMs).toISOString();
    if (!this.#paused.has(destinationId) && !this.#resumed.has(destinationId))
      return { since, keptSince: since };
    return this.end(destinationId, since);
  }

  /** The record that stands for a destination whose pause has ended, until all that was kept is sent. */
  end(destinationId: string, since: string): Pause {
    const keptSinceMs = this.keptSinceMs([destinationId]);
    if (keptSinceMs === undefined) return { since };
    return { since, keptSince: new Date(keptSinceMs).toISOString() };
  }

  /** When a destination with this id was deleted: what was kept until then was kept for that one. */
  endedMs(destinationId: string): number | undefined {
    return this.#endedMs.get(destinationId);
  }

  /** The ids of destinations that were deleted before that time. */
  endedBefore(timeMs: number): string[] {
    return [...this.#endedMs].filter(([, endedMs]) => endedMs < timeMs).map(([id]) => id);
  }

  ids(): Iterable<string> {
    return this.#paused.keys();
  }

  clear(): void {
    this.#paused.clear();
    this.#resumed.clear();
    this.#endedMs.clear();
  }
}

interface PausesAccess {
  readonly kafka: ClusterClient;
  readonly topology: Pick<Topology, 'topics'>;
  readonly log: Logger;
}

export interface FollowedPauses {
  has(destinationId: string): boolean;
  get(destinationId: string): Pause | undefined;
  // See `Pauses`.
  begin(destinationId: string, nowMs: number): Pause;
  endedMs(destinationId: string): number | undefined;
  /** Whether what it says was true 2 s ago at the latest. */
  isFresh(): boolean;
  /**
   * Calls back with the id of each destination that is paused or resumed from now on. What was written while nothing
   * could be read is told when all of it is known: events of a destination that has been resumed since would be moved
   * where nobody looks for them.
   */
  onChange(listener: (destinationId: string) => void): void;
  stop(): Promise<void>;
}

/** So long after a pause ends, `resume` looks for what is still kept for its destination. */
export const looksForKeptMs = 5_000;

/** Loads all pauses and follows the topic `pauses` from there on. */
export async function followPauses({
  kafka,
  topology,
  log,
}: PausesAccess): Promise<FollowedPauses> {
  let pauses = new Pauses();
  /** What is read after the topic was cut off or made again. Until all is, what was known stays in force. */
  let coming: Pauses | undefined;
  const listeners: ((id: string) => void)[] = [];
  const changed = (id: string): void => {
    for (const listener of listeners) listener(id);
  };
  const takeOver = (loaded: Pauses): void => {
    if (loaded !== coming) return;
    const former = pauses;
    pauses = loaded;
    coming = undefined;
    new Set([...former.ids(), ...loaded.ids()]).forEach(changed);
  };
  const late = new Set<string>();
  const changedLate = (id: string): void => {
    late.add(id);
    if (late.size > 1) return;
    follower.caughtUp().then(
      () => {
        const ids = [...late];
        late.clear();
        ids.forEach(changed);
      },
      // It is stopped.
      () => undefined,
    );
  };
  const follower = startFollower(kafka, {
    topic: topology.topics.pauses,
    // An operator who resumes a destination waits until the workers have read that.
    maxWaitMs: 500,
    needsWitnesses: true,
    onRecord: (record) => {
      const id = (coming ?? pauses).apply(record);
      if (id === undefined || coming !== undefined || listeners.length === 0) return;
      if (follower.isFresh()) changed(id);
      else changedLate(id);
    },
    onRestart: () => {
      const loading = new Pauses();
      coming = loading;
      follower.caughtUp().then(
        () => {
          takeOver(loading);
        },
        // It is stopped.
        () => undefined,
      );
    },
    log,
  });
  try {
    await follower.loaded;
    if (coming !== undefined) takeOver(coming);
  } catch (error) {
    await follower.stop();
    throw error;
  }
  return {
    has: (id) => pauses.has(id),
    get: (id) => pauses.get(id),
    begin: (id, nowMs) => pauses.begin(id, nowMs),
    endedMs: (id) => pauses.endedMs(id),
    isFresh: () => coming === undefined && follower.isFresh(),
    onChange: (listener) => {
      listeners.push(listener);
    },
    stop: () => follower.stop(),
  };
}

/**
 * What is paused now; nothing where the topic does not exist yet.
 * @throws PostriderError `kafka-unavailable`
 */
export async function readPauses(
  kafka: ClusterClient,
  { topics }: Pick<Topology, 'topics'>,
): Promise<Pauses> {
  try {
    return await readStoredPauses(kafka, { topics });
  } catch (error) {
    if (error instanceof PostriderError && error.code === 'not-found') return new Pauses();
    throw error;
  }
}

/** @throws PostriderError `kafka-unavailable`, `kafka-refused`; `not-found` where the topic does not exist yet */
export async function readStoredPauses(
  kafka: ClusterClient,
  { topics }: Pick<Topology, 'topics'>,
): Promise<Pauses> {
  const pauses = new Pauses();
  for await (const record of readRange(kafka, { topic: topics.pauses })) pauses.apply(record);
  return pauses;
}

function put<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}
