import { isTime } from './timestamp.ts';

/** What came of the last attempt that was made at an event: it goes along wherever the event waits. */
export interface LastAnswer {
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** `answered 500`, or why there was no answer. */
  readonly detail: string;
  /** Without credentials and query. */
  readonly url?: string | undefined;
  /** How the body of the answer begins. */
  readonly body?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** A waiting event carries this along each time that it is put off again. */
const mostBodyBytes = 200;
const mostDetailCharacters = 120;
const mostUrlCharacters = 200;

/** @param body how it begins; may end in the middle of a character */
export function lastAnswerOf(
  atMs: number,
  { detail, retryAfterMs }: Pick<LastAnswer, 'detail' | 'retryAfterMs'>,
  url: string | undefined,
  body: Buffer | undefined,
): LastAnswer {
  return {
    atMs,
    detail: detail.slice(0, mostDetailCharacters),
    url: url?.slice(0, mostUrlCharacters),
    body: body === undefined ? undefined : beginningOf(body),
    retryAfterMs,
  };
}

/** At most 200 bytes of it, in whole characters. */
export function beginningOf(body: Buffer): string {
  return new TextDecoder().decode(body.subarray(0, mostBodyBytes), { stream: true }).trim();
}

/** An object of JSON with short keys; `decodeLastAnswer` names them. */
export function encodeLastAnswer({ atMs, detail, url, body, retryAfterMs }: LastAnswer): string {
  return JSON.stringify({ t: atMs, d: detail, w: url, b: body, r: retryAfterMs });
}

/** Undefined for what is none: an event is not given up for it. */
export function decodeLastAnswer(json: unknown): LastAnswer | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const { t, d, w, b, r } = json as Record<string, unknown>;
  if (!isTime(t) || typeof d !== 'string') return undefined;
  return {
    atMs: t,
    detail: d,
    url: typeof w === 'string' ? w : undefined,
    body: typeof b === 'string' ? b : undefined,
    retryAfterMs: typeof r === 'number' ? r : undefined,
  };
}

/**
 * Why an event was given up without another attempt, for a person.
 * @param cause what kept it from one; empty: nothing but time
 * @param attempts that were made
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
  const status = /^answered (\d{3})$/.exec(detail)?.[1];
  return status === undefined ? `last attempt: ${detail}` : `last answer ${status}${said}`;
}
