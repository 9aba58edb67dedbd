/** The most of one partition that may be in flight. */
export interface WindowLimits {
  readonly records: number;
  readonly bytes: number;
}

/** The load of one partition that is in flight. */
export interface WindowLoad {
  readonly inFlight: number;
  readonly inFlightBytes: number;
  /** The records among them that were set aside: they don't take the room of others. */
  readonly aside: number;
  readonly asideBytes: number;
  /** From the oldest record in flight to the newest taken one, including finished ones. */
  readonly span: number;
}

/**
 * The number of windows that may pass an unfinished record. One whose attempts time out must not stop its partition,
 * nor may a crash repeat an unlimited number of records behind one that is never finished.
 */
const spanPerWindow = 64;

/** The part of the windows that may pass an unfinished record that must be left before intake resumes: one window. */
const spanLeft = 1 / spanPerWindow;

/**
 * The part of the window that is taken. At 1, intake pauses.
 * @param share the part of the window that may be used now, because others need memory too
 */
export function fullness(load: WindowLoad, limits: WindowLimits, share: number): number {
  return Math.max(inFlightPart(load, limits, share), spanPart(load, limits));
}

/**
 * Decides whether intake must be paused. It resumes at half of what may be in flight, to take in many records at a
 * time. That has nothing to do with how far the oldest record is passed, which may stay as it is for long.
 * @param share as for `fullness`
 */
export function mustPause(
  paused: boolean,
  load: WindowLoad,
  limits: WindowLimits,
  share: number,
): boolean {
  const inFlight = inFlightPart(load, limits, share);
  const span = spanPart(load, limits);
  return paused ? inFlight > 0.5 || span > 1 - spanLeft : inFlight >= 1 || span >= 1;
}

/** Tells whether another record fits in. */
export function hasRoom(
  load: Omit<WindowLoad, 'span'>,
  limits: WindowLimits,
  share: number,
): boolean {
  return inFlightPart(load, limits, share) < 1;
}

function inFlightPart(
  { inFlight, inFlightBytes, aside, asideBytes }: Omit<WindowLoad, 'span'>,
  limits: WindowLimits,
  share: number,
): number {
  const records = inFlight - aside;
  const bytes = inFlightBytes - asideBytes;
  return Math.max(records / limits.records, bytes / limits.bytes) / share;
}

function spanPart({ span }: Pick<WindowLoad, 'span'>, limits: WindowLimits): number {
  return span / (limits.records * spanPerWindow);
}

/** The records in flight of one partition, or the events made of them, and the most that it may have of them. */
export interface Holding {
  readonly inFlight: number;
  readonly inFlightBytes: number;
  /** The part of it that was set aside. The stage that does so bounds it. */
  readonly aside: number;
  readonly asideBytes: number;
  readonly limits: WindowLimits;
}

/** A few batches of a busy router. One that is larger comes alone. */
const leastFetchBytes = 16 * 1024;

/**
 * Bounds what all partitions that a process reads have in flight together, in any number of groups and topics.
 * Without a bound, memory grows with the number of partitions, which is that of dedicated topics times theirs.
 *
 * Half of the budget is divided among all partitions as their windows are. Nobody can take that part of a partition,
 * also somebody whose own records stay in flight for hours. Whoever needs more takes it from the other half.
 */
export class IntakeBudget {
  readonly #half: WindowLimits;
  readonly #holdings = new Set<Holding>();
  /** The sum of all windows. */
  #records = 0;
  #bytes = 0;

  constructor({ records, bytes }: WindowLimits) {
    this.#half = { records: records / 2, bytes: bytes / 2 };
  }

  join(holding: Holding): void {
    this.#holdings.add(holding);
    this.#records += holding.limits.records;
    this.#bytes += holding.limits.bytes;
  }

  leave(holding: Holding): void {
    if (!this.#holdings.delete(holding)) return;
    this.#records -= holding.limits.records;
    this.#bytes -= holding.limits.bytes;
  }

  /** The part of its window that each may use at any time: 1 where all windows fit into half of the budget. */
  get ownShare(): number {
    const { records, bytes } = this.#half;
    return Math.min(1, records / this.#records, bytes / this.#bytes);
  }

  /** The part of its window that each may use now. A sum is made for it. */
  get share(): number {
    const { ownShare } = this;
    // Most deployments: whatever is in flight, all windows fit.
    return ownShare === 1 ? 1 : shareWith(ownShare, this.#partTaken(ownShare));
  }

  /** All that was set aside, which takes none of the budget. */
  get aside(): WindowLimits {
    let records = 0;
    let bytes = 0;
    for (const { aside, asideBytes } of this.#holdings) {
      records += aside;
      bytes += asideBytes;
    }
    return { records, bytes };
  }

  /**
   * The most that a fetch may bring of one partition. What was brought stays, packed as it is stored, until its window
   * has room: at most half of the budget's bytes for all partitions together.
   * @param mostBytes where there are few
   */
  fetchBytes(mostBytes: number): number {
    const part = Math.floor(this.#half.bytes / this.#holdings.size);
    return Math.max(leastFetchBytes, Math.min(mostBytes, part));
  }

  /** The part of the second half that is in use. No running count, which would go wrong with a partition that is lost. */
  #partTaken(ownShare: number): number {
    let records = 0;
    let bytes = 0;
    for (const { inFlight, inFlightBytes, aside, asideBytes, limits } of this.#holdings) {
      records += Math.max(0, inFlight - aside - ownShare * limits.records);
      bytes += Math.max(0, inFlightBytes - asideBytes - ownShare * limits.bytes);
    }
    return Math.max(records / this.#half.records, bytes / this.#half.bytes);
  }
}

/**
 * All of the window while half of what is to be shared is free, and from then on less the less is left. Partitions
 * that would all use more than there is get the same part of their windows each, and leave something for one that had
 * nothing to do so far. (Switches share the memory of their ports in this way: Choudhury and Hahne, "Dynamic queue
 * length thresholds for shared-memory packet switches", 1998.)
 * @param taken the part of what is to be shared that is in use
 */
export function shareWith(ownShare: number, taken: number): number {
  const ofRest = Math.min(1, Math.max(0, 2 * (1 - taken)));
  return ownShare + (1 - ownShare) * ofRest;
}
