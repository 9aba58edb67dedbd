/** The limits of the pipeline; KB are 1024 bytes. The client library holds calls to the same. */

/** The most bytes of one call, as sent. */
export const maxCallBytes: number = 32 * 1024;
/** The most bytes of an id of a call in UTF-8. Ids are in the key or the header of each event made from the call. */
export const maxIdBytes: number = 1024;
/** Headers of a record with a call, besides those that it gets when it is rejected. */
export const maxHeaders: number = 128;
/** Their names and values together. */
export const maxHeaderBytes: number = 64 * 1024;
/** Levels of objects and arrays in one call, which is the first level itself. */
export const maxDepth: number = 64;
/** The most bytes of the body of one request to the tracking API, not compressed. */
export const maxBodyBytes: number = 500 * 1024;
/** The most calls of one request to the tracking API. Each call takes more memory than its bytes. */
export const maxBatchCalls: number = 5_000;

/** The bytes that are kept of the body of an answer that is no delivery; the most is what the setting allows. */
export const keptAnswerBytes: Readonly<Record<'usual' | 'most', number>> = {
  usual: 2_048,
  most: 8_192,
};

/** The time from a call's receipt within which its events are to be delivered (docs/design.md). */
export const objectiveMs: number = 60_000;

/** Tells whether the text has more bytes in UTF-8. They are counted only where it may have. */
export function isLongerThan(text: string, bytes: number): boolean {
  // A character that is one unit of a string has three bytes at most.
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes;
}

export function isIdTooLong(id: string): boolean {
  return isLongerThan(id, maxIdBytes);
}
