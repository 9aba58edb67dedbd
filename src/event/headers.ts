import type { IncomingHttpHeaders } from 'node:http';
import type { Origin } from './parse-call.ts';

/*
 * Headers that records with calls carry, and the one that every delivery carries. The header of an event, which the
 * router makes, is in `envelope.ts`.
 */

/** This header names the source of a Kafka producer's call. It takes precedence over the call's own `writeKey`. */
export const writeKeyHeader = 'write-key';

/** This field of a call, of a batch or of a record's value names the source. */
export const writeKeyField = 'writeKey';

/** Undefined where neither the header nor the call names a source. */
export function chooseWriteKey(
  header: Buffer | undefined,
  ofCall: string | undefined,
): string | undefined {
  return header === undefined || header.length === 0 ? ofCall : header.toString();
}

/**
 * This header names the source of a call that an audience sync made, which has no write key. It and the next one count
 * only on the topic `ingest.audience`, to which no other producer writes.
 */
export const audienceSourceHeader = 'audience-source';
/** Ids, separated by commas. Without it, the call goes to all destinations of its source. */
export const audienceDestinationsHeader = 'audience-destinations';

/** The source of a call, and the destinations that it may go to. */
export interface AudienceRoute {
  readonly sourceId: string;
  /** Undefined: all of the source. */
  readonly destinationIds: ReadonlySet<string> | undefined;
}

export function encodeAudienceRoute({
  sourceId,
  destinationIds,
}: AudienceRoute): Readonly<Record<string, string>> {
  return {
    [audienceSourceHeader]: sourceId,
    ...(destinationIds === undefined
      ? {}
      : { [audienceDestinationsHeader]: [...destinationIds].join(',') }),
  };
}

/** Undefined if no source is named. */
export function decodeAudienceRoute(
  headers: Readonly<Record<string, Buffer | undefined>>,
): AudienceRoute | undefined {
  const source = headers[audienceSourceHeader];
  if (source === undefined || source.length === 0) return undefined;
  const destinations = headers[audienceDestinationsHeader];
  return {
    sourceId: source.toString(),
    destinationIds:
      destinations === undefined ? undefined : new Set(destinations.toString().split(',')),
  };
}

/** The headers that a record in `ingest.rejected` has besides its own. One of its own with such a name is replaced. */
export const reasonHeader = 'reason';
export const detailHeader = 'detail';
/** The beginning of the endpoint's last answer. Only dead letters have this header. */
export const answerHeader = 'answer';
/** The result of the last attempt, without the endpoint's own words. Only dead letters have this header. */
export const lastAnswerHeader = 'last-answer';
/** Stays on the record when it is sent again, so that the call keeps its id, its time and its age. */
export const originHeader = 'postrider-origin';

/** False for the headers that a record in `ingest.rejected` has because it was rejected. */
export function isOwnHeader(name: string): boolean {
  return name !== reasonHeader && name !== detailHeader && name !== originHeader;
}

/** `<topic>:<partition>:<offset>:<append time in epoch milliseconds>` */
export function encodeOrigin({ topic, partition, offset, appendTimeMs }: Origin): string {
  return `${topic}:${partition}:${offset}:${appendTimeMs}`;
}

const encodedOrigin = /^([\w.-]{1,249}):(\d{1,9}):(\d{1,15}):(\d{1,15})$/;

/** Undefined without the header, and for bytes that are no origin. */
export function decodeOrigin(header: Buffer | undefined): Origin | undefined {
  const match = header === undefined ? null : encodedOrigin.exec(header.toString('latin1'));
  if (match === null) return undefined;
  const [, topic = '', partition, offset, appendTimeMs] = match;
  return {
    topic,
    partition: Number(partition),
    offset: Number(offset),
    appendTimeMs: Number(appendTimeMs),
  };
}

/**
 * The header of each delivery that says where it comes from. RFC 8586 made it against loops: proxies and content
 * delivery networks add themselves to it and must not remove what is there.
 */
export const loopHeader = 'CDN-Loop';
export const loopMark = 'postrider';
const loopHeaderInLowerCase = loopHeader.toLowerCase();

/**
 * True if the request is a delivery of a Postrider, this one or another one. It takes the headers as Node has them: names in
 * lower case, and lines of one name joined, as in `postrider, edge.example;v=2`.
 */
export function isDelivery(headers: IncomingHttpHeaders): boolean {
  const header = headers[loopHeaderInLowerCase];
  if (header === undefined) return false;
  return String(header)
    .split(',')
    .some((each) => each.split(';', 1)[0]?.trim().toLowerCase() === loopMark);
}
