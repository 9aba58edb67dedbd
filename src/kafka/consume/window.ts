/** How much of one partition may be in flight. */
export interface WindowLimits {
  readonly records: number;
  readonly bytes: number;
}

/** What is in flight in one partition. */
export interface WindowLoad {
  readonly inFlight: number;
  readonly inFlightBytes: number;
  /** From the oldest record in flight to the newest accepted one, including finished ones. */
  readonly span: number;
}

/**
 * How many windows may pass an unfinished record. One record that is never finished must not stop its
 * partition at once, nor may a crash repeat an unlimited number of records behind it.
 */
const spanPerWindow = 16;

/** The part of the window that is taken. At 1, intake pauses. What a fetch has brought may exceed it. */
export function fullness(load: WindowLoad, limits: WindowLimits): number {
  return Math.max(
    load.inFlight / limits.records,
    load.inFlightBytes / limits.bytes,
    load.span / (limits.records * spanPerWindow),
  );
}

/** Whether intake must be paused. It resumes at half, so that it takes in many records at a time. */
export function mustPause(paused: boolean, load: WindowLoad, limits: WindowLimits): boolean {
  const taken = fullness(load, limits);
  return paused ? taken > 0.5 : taken >= 1;
}
