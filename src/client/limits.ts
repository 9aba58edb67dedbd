/** What the pipeline takes; KB are 1024 bytes. */

/** Of one call, as JSON. */
export const maxCallBytes: number = 32 * 1024;
/** Levels of objects and arrays in one call, which is the first level itself. */
export const maxCallDepth = 64;
/** Of the body of one request. */
export const maxBatchBytes: number = 500 * 1024;
