import type { Clock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { ClusterClient } from './cluster/cluster.ts';
import { startConsumeLoop } from './consume/consume-loop.ts';

export interface ExclusiveOptions {
  /** Identifies the exclusive right. */
  readonly groupId: string;
  /** A topic with one partition. Nothing is read from it. */
  readonly topic: string;
  /** The parts of the right that this process wants: others may have other parts meanwhile. Undefined: all of it. */
  readonly parts?: readonly string[] | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A right, or parts of it, that one process at a time has. */
export interface Exclusive {
  /** Aborted when another process may have the right, because this one was silent for 10 s. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** Kafka keeps what each member wants in one record, which must not become too large for it. */
const mostParts = 2_000;

/** A process that waits for the right, or has it. */
export interface Candidate {
  /** Lets another process have the right. */
  release(): Promise<void>;
}

/** The wait of a process that wants the right. */
export interface Wait {
  /** Ends the wait for Kafka and for the turn. */
  readonly signal: AbortSignal;
  /** Another process has the right. Undefined: its turn is not waited for. */
  readonly onWait?: (() => void) | undefined;
}

/** @returns undefined if another process has the right, and this one does not wait, or waits no longer */
export async function acquireExclusive(
  kafka: ClusterClient,
  options: ExclusiveOptions,
  { signal, onWait }: Wait,
): Promise<Exclusive | undefined> {
  const lost = new AbortController();
  const turn = Promise.withResolvers<boolean>();
  const giveUp = (): void => {
    turn.resolve(false);
  };
  let wasHeld = false;
  const candidate = standForExclusive(kafka, options, (isHeld) => {
    wasHeld ||= isHeld;
    if (isHeld) turn.resolve(true);
    else if (wasHeld) lost.abort();
    else if (onWait === undefined) giveUp();
    else onWait();
  });
  signal.addEventListener('abort', giveUp);
  if (signal.aborted) giveUp();
  const hasTurn = await turn.promise;
  signal.removeEventListener('abort', giveUp);
  if (hasTurn) return { lost: lost.signal, release: () => candidate.release() };
  await candidate.release();
  return undefined;
}

/**
 * A consumer group gives a partition to one member, which keeps it while others come and go. After the holder
 * was killed, this takes until the group's session timeout, 10 s.
 * @param onTurn called with true when this process has the right, and with false when another one may
 */
export function standForExclusive(
  kafka: ClusterClient,
  { groupId, topic, parts, clock, log }: ExclusiveOptions,
  onTurn: (isHeld: boolean) => void,
): Candidate {
  let isAssigned = false;
  let isUnheard = false;
  let told: boolean | undefined;
  const tell = (): void => {
    const isHeld = isAssigned && !isUnheard;
    if (isHeld === told) return;
    told = isHeld;
    onTurn(isHeld);
  };
  const loop = startConsumeLoop(kafka, {
    groupId,
    topics: [topic],
    parts: parts !== undefined && parts.length > mostParts ? undefined : parts,
    clock,
    log,
    // The record that comes is never finished, so nothing more is read, and nothing committed.
    windowRecords: 1,
    windowBytes: 1,
    maxBytesPerPartition: 1,
    onRecords: () => undefined,
    onAssigned: (partitions) => {
      isAssigned = partitions.length > 0;
      tell();
    },
    onUnheard: (isNow) => {
      isUnheard = isNow;
      if (isAssigned) tell();
    },
    onExpelled: () => {
      if (!isAssigned) return;
      isAssigned = false;
      tell();
    },
  });
  return { release: () => loop.stop(0) };
}
