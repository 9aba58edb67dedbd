import { PostriderError } from '../../errors.ts';
import { isOf, type Identity } from '../../event/uid.ts';
import type { ClusterClient } from '../../kafka/cluster/cluster.ts';
import { followTable } from '../../kafka/follow/table.ts';
import { readRange } from '../../kafka/read-range.ts';
import type { IncomingRecord } from '../../kafka/record.ts';
import type { Logger } from '../../ops/log.ts';
import type { Topology } from '../../topology.ts';
import { decodePause, decodeUid, readPauseKey, type Pause } from './pause.ts';
import { Recalls } from './recall.ts';

type PauseRecord = Pick<IncomingRecord, 'key' | 'value' | 'timestampMs'>;

/** A record that is no tombstone, and when it was appended. */
interface Told {
  readonly pause: Pause;
  readonly timestampMs: number;
}

interface ChangedPause {
  readonly id: string;
  readonly isRecall: boolean;
}

/** The content of the topic `pauses`. Records about an earlier destination of an id are not in force. */
export class Pauses {
  readonly #paused = new Map<string, Told>();
  readonly #resumed = new Map<string, Told>();
  readonly #uids = new Map<string, string>();
  readonly #ended = new Set<string>();
  /** Tells which records of retry topics are due before their time. */
  readonly recalls: Recalls = new Recalls();

  /** @returns the destination whose pause or recall the record is about */
  apply({ key, value, timestampMs }: PauseRecord): ChangedPause | undefined {
    const { says, destinationId: id } = readPauseKey(key?.toString() ?? '');
    const pause = decodePause(value);
    const told = pause === undefined ? undefined : { pause, timestampMs };
    switch (says) {
      case 'paused':
        put(this.#paused, id, told);
        return { id, isRecall: false };
      case 'recalled':
        this.recalls.apply(id, value, timestampMs);
        return { id, isRecall: true };
      case 'resumed':
        put(this.#resumed, id, told);
        return undefined;
      case 'uid':
        put(this.#uids, id, decodeUid(value));
        return undefined;
      case 'ended':
        if (value === null) this.#ended.delete(id);
        else this.#ended.add(id);
        return undefined;
    }
  }

  has(destination: Identity): boolean {
    return this.get(destination) !== undefined;
  }

  get(destination: Identity): Pause | undefined {
    return toldOf(this.#paused, destination)?.pause;
  }

  /** Since when it is not paused any more, while events that were kept for it may be left. ISO 8601. */
  resumedSince(destination: Identity): string | undefined {
    return toldOf(this.#resumed, destination)?.pause.since;
  }

  /**
   * Events that were kept before this time are not for the next `resume` of these destinations, by whichever says the earlier
   * time, Kafka's clock or that of whoever paused them; epoch milliseconds. Undefined: not known, so all that is kept
   * may be for it.
   */
  keptSinceMs(destinations: Iterable<Identity>): number | undefined {
    let firstMs = Infinity;
    for (const destination of destinations) {
      const told = [this.#paused, this.#resumed]
        .map((each) => toldOf(each, destination))
        .filter((each) => each !== undefined);
      if (told.length === 0) return undefined;
      for (const { pause, timestampMs } of told) {
        if (pause.keptSince === undefined) return undefined;
        firstMs = Math.min(firstMs, timestampMs, Date.parse(pause.keptSince));
      }
    }
    return firstMs;
  }

  /** A pause that begins now: events that a former one has left are kept in it too. */
  begin(destination: Identity, nowMs: number): Pause {
    const since = new Date(nowMs).toISOString();
    if (!this.has(destination) && this.resumedSince(destination) === undefined)
      return { since, keptSince: since };
    return this.end(destination, since);
  }

  /** The record that stands for a destination whose pause has ended, until all that was kept is sent. */
  end(destination: Identity, since: string): Pause {
    const keptSinceMs = this.keptSinceMs([destination]);
    if (keptSinceMs === undefined) return { since };
    return { since, keptSince: new Date(keptSinceMs).toISOString() };
  }

  /** The uid of the last destination that was made with this id. */
  uidOf(id: string): string | undefined {
    return this.#uids.get(id);
  }

  /** The ids under which a former release wrote that a destination was deleted. */
  get ended(): ReadonlySet<string> {
    return this.#ended;
  }

  /** Nothing was ever paused or recalled, and no destination made by a release that knows uids. */
  get isEmpty(): boolean {
    const all = [this.#paused, this.#resumed, this.#uids, this.#ended, this.recalls];
    return all.every(({ size }) => size === 0);
  }

  ids(): Iterable<string> {
    return this.#paused.keys();
  }
}

function toldOf(all: ReadonlyMap<string, Told>, destination: Identity): Told | undefined {
  const told = all.get(destination.id);
  return told !== undefined && isOf(destination, told.pause) ? told : undefined;
}

interface PausesAccess {
  readonly kafka: ClusterClient;
  readonly topology: Pick<Topology, 'topics'>;
  readonly log: Logger;
}

export interface FollowedPauses {
  has(destination: Identity): boolean;
  get(destination: Identity): Pause | undefined;
  // See `Pauses`.
  begin(destination: Identity, nowMs: number): Pause;
  /** True while everything written up to 2 s ago has been read here. */
  isFresh(): boolean;
  /**
   * Calls back with the id of each destination that is paused or resumed from now on. What was written while nothing
   * could be read is told when all of it is known: events of a destination that has been resumed since would be moved
   * where nobody looks for them.
   */
  onChange(listener: (destinationId: string) => void): void;
  /** Records that are due before their time. */
  readonly recalls: Pick<Recalls, 'covers' | 'furthest'>;
  /** Calls back with the id of each destination whose waiting events are recalled from now on. */
  onRecall(listener: (destinationId: string) => void): void;
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
  const table = followTable(
    kafka,
    {
      topic: topology.topics.pauses,
      // An operator who resumes a destination waits until the workers have read that.
      maxWaitMs: 500,
      needsWitnesses: true,
      log,
    },
    {
      create: () => new Pauses(),
      apply: (pauses, record) => pauses.apply(record),
      complete: (pauses, former) => [
        ...Array.from(new Set([...former.ids(), ...pauses.ids()]), (id) => ({
          id,
          isRecall: false,
        })),
        ...Array.from(pauses.recalls.ids(), (id) => ({ id, isRecall: true })),
      ],
    },
  );
  await table.loaded;
  return {
    has: (destination) => table.current.has(destination),
    get: (destination) => table.current.get(destination),
    begin: (destination, nowMs) => table.current.begin(destination, nowMs),
    isFresh: () => table.isFresh(),
    onChange: (listener) => {
      const late = new Set<string>();
      const tellLate = (): void => {
        const ids = [...late];
        late.clear();
        ids.forEach(listener);
      };
      table.onChange(({ id, isRecall }) => {
        if (isRecall) return;
        if (table.isFresh()) listener(id);
        // It rejects when it is stopped.
        else if (late.add(id).size === 1) table.caughtUp().then(tellLate, () => undefined);
      });
    },
    recalls: {
      covers: (waiting, place) => table.current.recalls.covers(waiting, place),
      furthest: (place) => table.current.recalls.furthest(place),
    },
    onRecall: (listener) => {
      table.onChange(({ id, isRecall }) => {
        if (isRecall) listener(id);
      });
    },
    stop: () => table.stop(),
  };
}

/**
 * The pauses as they are now; none if the topic does not exist yet.
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
