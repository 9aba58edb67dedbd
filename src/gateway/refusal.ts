/**
 * Why a request is not accepted, with the status of the answer. Clients of this protocol repeat a request
 * after 429 and 5xx, and drop it after any other 4xx, so 400 is only for what can never succeed.
 */
const statuses = {
  'invalid-request': 400,
  'invalid-gzip': 400,
  'unknown-encoding': 400,
  'invalid-json': 400,
  'not-an-object': 400,
  'no-batch': 400,
  'too-deep': 400,
  'too-large': 400,
  'too-many-calls': 400,
  'no-data': 400,
  loop: 400,
  'no-write-key': 401,
  'unknown-write-key': 401,
  'unknown-origin': 403,
  'not-found': 404,
  'request-timeout': 408,
  'body-too-large': 413,
  'unknown-expectation': 417,
  'headers-too-large': 431,
  'rate-limited': 429,
  overloaded: 429,
  'kafka-unavailable': 503,
  'internal-error': 500,
} as const;

export type RefusalCode = keyof typeof statuses;

export const refusalCodes: readonly RefusalCode[] = Object.keys(statuses) as RefusalCode[];

export interface Refusal {
  readonly code: RefusalCode;
  /** One sentence for readers of a client's log, without the call's contents. */
  readonly message: string;
  /** Seconds. */
  readonly retryAfterS?: number;
}

export function statusOf({ code }: Refusal): number {
  return statuses[code];
}

/** Every error's body has exactly these keys, because some clients fail if one is missing. */
export function errorBody({ code, message }: Refusal): string {
  return JSON.stringify({ code, message });
}

/** For errors of unknown cause. */
export const internalError: Refusal = {
  code: 'internal-error',
  message: 'The gateway failed on this request; send it again.',
};
