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
  /** From the oldest record in flight to the newest accepted one, including finished ones. */
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
