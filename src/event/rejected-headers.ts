import type { Origin } from './parse-call.ts';

/** The headers that a record in `ingest.rejected` has besides its own. One of its own with such a name is replaced. */
export const reasonHeader = 'reason';
export const detailHeader = 'detail';
/** The header with the beginning of the endpoint's last answer; only dead letters have it. */
export const answerHeader = 'answer';
/** The header with the result of the last attempt, without what the endpoint said; only dead letters have it. */
export const lastAnswerHeader = 'last-answer';
/** Stays on the record when it is sent again, so that the call keeps its id, its time and its age. */
export const originHeader = 'postrider-origin';

/** Tells whether a record in `ingest.rejected` has this header for other reasons than that it was rejected. */
export function isOwnHeader(name: string): boolean {
  return name !== reasonHeader && name !== detailHeader && name !== originHeader;
}

/** `<topic>:<partition>:<offset>:<append time in epoch milliseconds>` */
export function encodeOrigin({ topic, partition, offset, appendTimeMs }: Origin): string {
  return `${topic}:${partition}:${offset}:${appendTimeMs}`;
}

const encoded = /^([\w.-]{1,249}):(\d{1,9}):(\d{1,15}):(\d{1,15})$/;

/** Undefined without the header, and for bytes that are no origin. */
export function decodeOrigin(header: Buffer | undefined): Origin | undefined {
  const match = header === undefined ? null : encoded.exec(header.toString('latin1'));
  if (match === null) return undefined;
  const [, topic = '', partition, offset, appendTimeMs] = match;
  return {
    topic,
    partition: Number(partition),
    offset: Number(offset),
    appendTimeMs: Number(appendTimeMs),
  };
}
