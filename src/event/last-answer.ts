import { isTime } from './timestamp.ts';

/** The result of an event's last attempt. It is stored with the event wherever the event waits. */
export interface LastAnswer {
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** `answered 500`, or why there was no answer. */
  readonly detail: string;
  /** Without credentials and query. */
  readonly url?: string | undefined;
  /** The beginning of the answer's body. */
  readonly body?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** Short, because a waiting event carries this each time that it is put off again. */
const mostBodyBytes = 200;
const mostDetailCharacters = 120;
const mostUrlCharacters = 200;

/** @param body its beginning, which may end in the middle of a character */
export function lastAnswerOf(
  atMs: number,
  { detail, retryAfterMs }: Pick<LastAnswer, 'detail' | 'retryAfterMs'>,
  url: string | undefined,
  body: Buffer | undefined,
): LastAnswer {
  return {
    atMs,
    detail: shortened(detail, mostDetailCharacters),
    url: url?.slice(0, mostUrlCharacters),
    body: body === undefined ? undefined : beginningOf(body),
    retryAfterMs,
  };
}

/** At most 200 bytes of the body, in whole characters. */
export function beginningOf(body: Buffer): string {
  return new TextDecoder().decode(body.subarray(0, mostBodyBytes), { stream: true }).trim();
}

/** The text, or its beginning with an ellipsis if it has more characters (UTF-16 code units) than that. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 2);
  // Not half of a character that has two code units.
  const isHalf = last >= 0xd800 && last < 0xdc00;
  return `${text.slice(0, isHalf ? most - 2 : most - 1)}…`;
}

/** A JSON object with short keys; `decodeLastAnswer` names them. */
export function encodeLastAnswer({ atMs, detail, url, body, retryAfterMs }: LastAnswer): string {
  return JSON.stringify({ t: atMs, d: detail, w: url, b: body, r: retryAfterMs });
}

/** Undefined for invalid content, because an event is not given up for that. */
export function decodeLastAnswer(json: unknown): LastAnswer | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const { t, d, w, b, r } = json as Record<string, unknown>;
  if (!isTime(t) || typeof d !== 'string') return undefined;
  return {
    atMs: t,
    detail: d,
    url: typeof w === 'string' ? w : undefined,
    body: typeof b === 'string' ? b : undefined,
    retryAfterMs: isWish(r) ? r : undefined,
  };
}

/** JSON may hold a number that becomes infinite. */
function isWish(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Infinity;
}

/**
 * Why an event was given up without another attempt, for people.
 * @param cause what prevented an attempt; empty: only the time
 * @param attempts number of attempts made
 */
export function untriedText(cause: string, attempts: number, last: LastAnswer | undefined): string {
  const because = cause === '' ? '' : ` (${cause})`;
  if (last !== undefined) {
    const since = `${new Date(last.atMs).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length)}Z`;
    return `not tried again since ${since}${because}; ${lastText(last)}`;
  }
  if (cause === '') return '';
  return attempts === 0 ? `never tried${because}` : `not tried again${because}`;
}

/** `last answer 500 "upstream timeout"`, or why there was none. */
export function lastText({ detail, body }: LastAnswer): string {
  const said = body === undefined || body === '' ? '' : ` "${body}"`;
  const status = /^answered (\d{3}(?: \(.*\))?)$/.exec(detail)?.[1];
  return status === undefined ? `last attempt: ${detail}` : `last answer ${status}${said}`;
}
