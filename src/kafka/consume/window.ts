/** How much of one partition may be in flight. */
export interface WindowLimits {
  readonly records: number;
  readonly bytes: number;
}

/** What is in flight in one partition. */
export interface WindowLoad {
  readonly inFlight: number;
  readonly inFlightBytes: number;
  /** From the oldest record in flight to the newest accepted, finished ones included. */
  readonly span: number;
}

/**
 * One record that is never finished must not stop its partition at once, nor let everything behind
 * it be repeated after a crash without limit.
 */
const spanPerWindow = 16;

/** Whether intake must be paused. It resumes at half, so that it takes in many records at a time. */
export function mustPause(paused: boolean, load: WindowLoad, limits: WindowLimits): boolean {
  const share = paused ? 0.5 : 1;
  return (
    exceeds(load.inFlight, limits.records, share) ||
    exceeds(load.inFlightBytes, limits.bytes, share) ||
    exceeds(load.span, limits.records * spanPerWindow, share)
  );
}

function exceeds(load: number, limit: number, share: number): boolean {
  return share === 1 ? load >= limit : load > limit * share;
}
