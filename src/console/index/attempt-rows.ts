import type { AttemptLine } from '../../event/attempt-line.ts';
import type { EventType } from '../../event/call.ts';
import { identityText, idIn, isUid } from '../../event/uid.ts';
import type { Words } from './words.ts';

/** The kinds of lines. Rows store a kind's number here, so the order never changes. */
const whats = [
  'delivered',
  'failed',
  'refused',
  'retry',
  'deferred',
  'bundle-deferred',
  'dead-letter',
  'kept',
  'dropped',
] as const;
type What = (typeof whats)[number];

/** The outcome of an attempt, or the kind of another line. */
export function saysOf(what: number): What {
  return whats[what] ?? 'dropped';
}

export const delivered = 0;
export const failed = 1;
export const refused = 2;
export const deadLetter = 6;
export const kept = 7;
export const dropped = 8;
/** The latency class of a line that is no attempt. */
export const noLatency = 255;

/** A line as it is stored: what repeats as the number of a word, the rare rest as JSON. */
export interface AttemptRow {
  readonly seq: number;
  readonly atMs: number;
  /** The word of its `identityText`. */
  readonly destination: number;
  readonly what: number;
  readonly latencyClass: number;
  readonly source: number | null;
  readonly type: number | null;
  readonly eventName: string | null;
  readonly message: string | null;
  readonly messageHash: number | null;
  readonly user: string | null;
  readonly userHash: number | null;
  readonly attempt: number | null;
  readonly url: number | null;
  readonly status: number | null;
  readonly tookMs: number | null;
  readonly cause: number | null;
  readonly rest: string | null;
}

type Fields = Partial<Record<string, unknown>>;

/** A worker's clock may be ahead of Kafka's by so much. */
const mostAheadMs = 86_400_000;

/**
 * Undefined for what is no line of this version, or cannot be true. A line from the far future would stay in the
 * index for ever, and its bucket is no number that a column can have.
 * @param appendedMs when Kafka got the line
 */
export function rowOfLine(
  json: unknown,
  seq: number,
  words: Words,
  appendedMs: number,
): AttemptRow | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const {
    kind,
    at,
    destination,
    uid,
    source,
    messageId,
    user,
    type,
    eventName,
    attempt,
    attempts,
    url,
    outcome,
    status,
    tookMs,
    cause,
    ...rest
  } = json as Fields;
  const what = whats.indexOf((kind === 'attempt' ? outcome : kind) as What);
  const atMs = typeof at === 'string' ? Date.parse(at) : NaN;
  const isPossible = atMs > 0 && atMs <= appendedMs + mostAheadMs;
  if (what < 0 || !isPossible || typeof destination !== 'string') return undefined;
  const isAttempt = kind === 'attempt';
  if (isAttempt !== what <= refused) return undefined;
  const word = (text: unknown): number | null =>
    typeof text === 'string' ? words.idOf(text) : null;
  const message = textOf(messageId);
  const userId = textOf(user);
  const took = countOf(tookMs);
  return {
    seq,
    atMs,
    destination: words.idOf(identityText({ id: destination, uid: isUid(uid) ? uid : undefined })),
    what,
    latencyClass: isAttempt && took !== null ? latencyClassOf(took) : noLatency,
    source: word(source),
    type: word(type),
    eventName: textOf(eventName),
    message,
    messageHash: message === null ? null : hashOf(message),
    user: userId,
    userHash: userId === null ? null : hashOf(userId),
    attempt: countOf(isAttempt ? attempt : attempts),
    url: word(url),
    status: countOf(status),
    tookMs: took,
    cause: word(cause),
    rest: hasFields(rest) ? JSON.stringify(rest) : null,
  };
}

/** The line as it was; fields of other types than its version has are left out. */
export function lineOfRow(row: AttemptRow, words: Words): AttemptLine {
  const what = saysOf(row.what);
  const isAttempt = row.what <= refused;
  const word = (id: number | null): string | undefined => (id === null ? undefined : words.of(id));
  const line = {
    kind: isAttempt ? 'attempt' : what,
    at: new Date(row.atMs).toISOString(),
    destination: idIn(words.of(row.destination)),
    source: word(row.source),
    messageId: row.message ?? undefined,
    user: row.user ?? undefined,
    type: word(row.type) as EventType | undefined,
    eventName: row.eventName ?? undefined,
    [isAttempt ? 'attempt' : 'attempts']: row.attempt ?? undefined,
    url: word(row.url),
    outcome: isAttempt ? what : undefined,
    status: row.status ?? undefined,
    tookMs: row.tookMs ?? undefined,
    cause: word(row.cause),
    ...(row.rest === null ? {} : (JSON.parse(row.rest) as object)),
  };
  const said = Object.entries(line).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said) as unknown as AttemptLine;
}

/** A column of numbers is looked through many times as fast as one of texts. FNV-1a, 32 bits, signed. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash | 0;
}

const mostCharacters = 1_024;
const mostCount = 2_147_483_647;

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? storedText(value) : null;
}

/** A text as the file and URLs have it: without half an emoji, which a cut makes too. */
export function storedText(text: string): string {
  return text.slice(0, mostCharacters).toWellFormed();
}

function countOf(value: unknown): number | null {
  const isCount = typeof value === 'number' && value >= 0 && value <= mostCount;
  return isCount ? Math.round(value) : null;
}

function hasFields(fields: object): boolean {
  for (const _ in fields) return true;
  return false;
}

/**
 * Classes of durations of attempts. Counts of classes can be added up over time and URLs, which
 * percentiles cannot. Each class is 1.3 to 2 times as wide as the one below.
 */
const boundsMs = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000,
  5_000, 7_000,
];

export const latencyClasses: number = boundsMs.length + 1;

/** From 0 on; the last one has no upper bound. */
export function latencyClassOf(tookMs: number): number {
  let low = 0;
  let high = boundsMs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tookMs <= (boundsMs[middle] ?? Infinity)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Below which so many of them were, assuming that those of a class are spread evenly.
 * @param counts by class
 * @param share from 0 to 1
 * @returns null without any
 */
export function latencyAt(counts: ArrayLike<number>, share: number): number | null {
  let total = 0;
  for (let each = 0; each < counts.length; each += 1) total += counts[each] ?? 0;
  if (total === 0) return null;
  const wanted = share * total;
  let below = 0;
  for (let each = 0; each < counts.length; each += 1) {
    const count = counts[each] ?? 0;
    if (count > 0 && below + count >= wanted) {
      const from = boundsMs[each - 1] ?? 0;
      const to = boundsMs[each] ?? from;
      return Math.round(from + ((to - from) * (wanted - below)) / count);
    }
    below += count;
  }
  return boundsMs.at(-1) ?? null;
}
