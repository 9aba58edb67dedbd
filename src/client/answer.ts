import { retryAfterMs } from './backoff.ts';

/** What the endpoint said to a batch. */
export interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: string;
}

export type Verdict =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'again'; readonly reason: string; readonly waitMs: number | undefined }
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Judges the gateway's answer as the pipeline judges an endpoint's (src/delivery/outcome.ts): 2xx is
 * delivered; 408, 425, 429 and 5xx are worth a repetition. Any other answer, including redirects, would be
 * the same again.
 */
export function judge({ status, retryAfter, body }: Answer, nowMs: number): Verdict {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  const reason = `the endpoint answered ${status}${explanation(body)}`;
  if (isPassing(status)) {
    return { kind: 'again', reason, waitMs: retryAfterMs(retryAfter, nowMs) };
  }
  return { kind: 'refused', reason };
}

/** 408: the request came too slowly. 425: it came in early data of TLS. Both are temporary. */
function isPassing(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

const longestExplanation = 200;

/** The beginning of an error's `message` in this protocol, otherwise of the text. */
function explanation(body: string): string {
  const text = (messageOf(body) ?? body).slice(0, longestExplanation).trim();
  return text === '' ? '' : `: ${text}`;
}

function messageOf(body: string): string | undefined {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}
