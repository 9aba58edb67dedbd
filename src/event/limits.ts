/** What the pipeline takes; KB are 1024 bytes. The client library holds calls to the same. */

/** Of one call, as sent. */
export const maxCallBytes: number = 32 * 1024;
/** Levels of objects and arrays in one call, which is the first level itself. */
export const maxDepth: number = 64;
/** Of the body of one request to the tracking API, not compressed. */
export const maxBodyBytes: number = 500 * 1024;

/** Of a call's receipt: its events are to be delivered within this time (docs/design.md). */
export const objectiveMs: number = 60_000;
