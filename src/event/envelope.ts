import { eventTypes, type Call, type EventType } from './call.ts';
import { readFreshHeader } from './fresh-header.ts';
import { decodeLastAnswer, encodeLastAnswer, type LastAnswer } from './last-answer.ts';
import { quote } from './read-json.ts';
import { isTime } from './timestamp.ts';
import { isUid, type WithUid } from './uid.ts';
import type { UrlValues } from './url-template.ts';

/** The one header that an event carries besides its body. */
export const envelopeHeader = 'postrider';

/** `v` in the header of an event. */
const envelopeVersion = 1;
/** `v` in the header of a bundle. It stands in the same header, so it is never an envelope's number. */
export const bundleVersion = 2;
/** No release gets there: a larger number is no version. */
const mostVersions = 1_000;

/** Everything that a delivery needs to know about an event without parsing its body. */
export interface Envelope extends WithUid {
  readonly destinationId: string;
  readonly sourceId: string;
  readonly messageId: string;
  readonly type: EventType;
  /** See `eventNameOf`. Former releases write none. */
  readonly eventName?: string | undefined;
  /** The other id that an alias is about, besides the one in the record's key. */
  readonly previousId?: string | undefined;
  /** The call's values at the placeholders of its destination's URLs, if these have any. */
  readonly urlValues?: UrlValues | undefined;
  /** The position in the `config` topic that the router had reached. */
  readonly configOffset: number;
  /** The append time of the call's own record, epoch milliseconds. */
  readonly appendTimeMs: number;
  /** From an audience sync, which writes a whole audience at once: nobody waits for one of its events. */
  readonly isSync?: true | undefined;
  /** The time at which an operator last sent the event again: its age limit runs from then. Epoch milliseconds. */
  readonly redrivenMs?: number | undefined;
  /** Made so far. */
  readonly attempts: number;
  /** End of the retry window; absent until the retry clock runs. Epoch milliseconds. */
  readonly deadlineMs?: number | undefined;
  /** Earliest next attempt, for a record of a retry topic. Epoch milliseconds. */
  readonly dueMs?: number | undefined;
  /** The last answer to an event that failed and waits, or that was given up. */
  readonly lastAnswer?: LastAnswer | undefined;
}

/** One a millisecond for four hours, which is the longest RETRY_WINDOW. */
const mostAttempts = 14_400_000;
const knownTypes: ReadonlySet<unknown> = new Set(eventTypes);

/**
 * Compact JSON with short keys, because every record carries it: `decodeEnvelope` names them. Put
 * together by hand, in a quarter of the time that JSON.stringify takes for the object.
 */
export function encodeEnvelope(envelope: Envelope): string {
  const { destinationId, uid, sourceId, messageId, eventName, previousId, urlValues } = envelope;
  const { isSync, redrivenMs, deadlineMs, dueMs, lastAnswer } = envelope;
  return (
    `{"v":${envelopeVersion},"d":${quote(destinationId)},"s":${quote(sourceId)},"m":${quote(messageId)},` +
    `"t":"${envelope.type}","c":${envelope.configOffset},"a":${envelope.appendTimeMs},` +
    `"n":${envelope.attempts}` +
    (uid === undefined ? '' : `,"w":"${uid}"`) +
    (eventName === undefined ? '' : `,"e":${quote(eventName)}`) +
    (previousId === undefined ? '' : `,"p":${quote(previousId)}`) +
    (urlValues === undefined ? '' : `,"q":${JSON.stringify(urlValues)}`) +
    (isSync === undefined ? '' : ',"b":1') +
    (redrivenMs === undefined ? '' : `,"r":${redrivenMs}`) +
    (deadlineMs === undefined ? '' : `,"x":${deadlineMs}`) +
    (lastAnswer === undefined ? '' : `,"l":${encodeLastAnswer(lastAnswer)}`) +
    (dueMs === undefined ? '}' : `,"u":${dueMs}}`)
  );
}

/**
 * Undefined for bytes that are no envelope of a version that this release knows, and for one that says what
 * cannot be true. Keys it does not know are ignored.
 */
export function decodeEnvelope(bytes: Buffer): Envelope | undefined {
  const json = readFreshHeader(bytes) ?? parseHeader(bytes);
  if (json?.['v'] !== envelopeVersion) return undefined;
  const { d, w, s, m, t, e, c, a, n, p, q, b, r, x, u, l } = json;
  const valid =
    isId(d) &&
    (w === undefined || isUid(w)) &&
    isId(s) &&
    isId(m) &&
    knownTypes.has(t) &&
    (e === undefined || typeof e === 'string') &&
    isCount(c) &&
    isTime(a) &&
    isCount(n) &&
    n <= mostAttempts &&
    (p === undefined || isId(p)) &&
    (q === undefined || isUrlValues(q)) &&
    (r === undefined || isTime(r)) &&
    (x === undefined || isTime(x)) &&
    (u === undefined || isTime(u));
  if (!valid) return undefined;
  // Each with all of its fields: whatever reads envelopes is twice as fast where they have one shape.
  return {
    destinationId: d,
    uid: w,
    sourceId: s,
    messageId: m,
    type: t as EventType,
    eventName: e,
    previousId: p,
    urlValues: q,
    configOffset: c,
    appendTimeMs: a,
    isSync: b === 1 ? true : undefined,
    redrivenMs: r,
    attempts: n,
    deadlineMs: x,
    dueMs: u,
    lastAnswer: l === undefined ? undefined : decodeLastAnswer(l),
  };
}

/** From when on the event's age counts: an operator who sends it again makes it as good as new. */
export function ageFromMs({
  appendTimeMs,
  redrivenMs = appendTimeMs,
}: Pick<Envelope, 'appendTimeMs' | 'redrivenMs'>): number {
  return redrivenMs;
}

/** Whom the call is about: `userId`, else `anonymousId`. */
export function userOf(call: Call): string {
  return call.userId ?? call.anonymousId ?? '';
}

/** A list shows no more of a name. */
const mostNameCharacters = 100;

/**
 * The name by which people know an event in a list: the `event` of a track call, the `name` of a page or screen. Its
 * beginning, if it is long.
 */
export function eventNameOf({ type, fields }: Call): string | undefined {
  const name =
    type === 'track' ? fields['event'] : type === 'page' || type === 'screen' ? fields['name'] : '';
  if (typeof name !== 'string' || name === '') return undefined;
  return name.length > mostNameCharacters ? name.slice(0, mostNameCharacters).toWellFormed() : name;
}

/** The record key of an event: one user's events for one destination share a partition. */
export function deliveryKey(destinationId: string, user: string): string {
  return `${destinationId}:${user}`;
}

/** The place where the user begins in the record key of an event for this destination; ids of destinations are ASCII. */
export function userOffset(destinationId: string): number {
  return destinationId.length + 1;
}

/** True if a newer release wrote the header, an event's or a bundle's, so that nothing of it can be read here. */
export function isFromNewerRelease(header: Buffer | undefined): boolean {
  const v = header === undefined ? undefined : parseHeader(header)?.['v'];
  return Number.isInteger(v) && (v as number) > bundleVersion && (v as number) <= mostVersions;
}

/** The header's JSON, believed to be an object: nothing else has a `v` to go by. */
export function parseHeader(bytes: Buffer): Record<string, unknown> | null {
  try {
    return JSON.parse(bytes.toString()) as Record<string, unknown> | null;
  } catch {
    return null;
  }
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isUrlValues(value: unknown): value is UrlValues {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((each) => each === null || isId(each));
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
