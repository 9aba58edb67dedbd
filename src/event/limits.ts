/** What the pipeline takes; KB are 1024 bytes. The client library holds calls to the same. */

/** Of one call, as sent. */
export const maxCallBytes: number = 32 * 1024;
/** Levels of objects and arrays in one call, which is the first level itself. */
export const maxDepth: number = 64;
/** Of the body of one request to the tracking API, not compressed. */
export const maxBodyBytes: number = 500 * 1024;
