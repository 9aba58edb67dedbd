import { systemClock, type Clock } from './clock.ts';
import type { EncodedCall } from './encode-call.ts';
import { delivered, library, refusedAll, type SendResult, type Transport } from './transport.ts';

interface HttpTransportOptions {
  readonly url: string;
  readonly writeKey: string;
  /** For a whole request, including its answer. Default 20 s, more than the gateway waits for Kafka. */
  readonly timeoutMs?: number;
  readonly clock?: Pick<Clock, 'steadyNow'>;
}

/**
 * The time for which answers that are not the gateway's are put up with, after a delivery: a proxy is deployed, or set
 * up anew, within seconds.
 */
const strangerPatienceMs = 60_000;

/** Sends batches to the gateway, by Node's own `fetch`. */
export class HttpTransport implements Transport {
  /** Enough for 6,000 calls a second at 50 ms a request, and few enough for a gateway in trouble. */
  readonly maxInFlight = 16;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #clock: Pick<Clock, 'steadyNow'>;
  #hasDelivered = false;
  /** Since the last delivery: when somebody else first answered in the gateway's place. In steady time. */
  #strangerSinceMs: number | undefined;
  readonly #running = new Set<AbortController>();
  #isClosed = false;

  constructor({ url, writeKey, timeoutMs = 20_000, clock = systemClock }: HttpTransportOptions) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#headers = {
      authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
      'content-type': 'application/json',
      'user-agent': `${library.name}/${library.version}`,
    };
  }

  async send(calls: readonly EncodedCall[]): Promise<SendResult> {
    let answer: Answer;
    try {
      answer = await this.#post(batchBody(calls, new Date(systemClock.now())));
    } catch (error) {
      const reason = this.#isClosed ? undefined : networkReason(error);
      return { outcome: 'again', reason, waitMs: undefined };
    }
    const verdict = judge(answer, systemClock.now());
    switch (verdict.kind) {
      case 'delivered':
        this.#hasDelivered = true;
        this.#strangerSinceMs = undefined;
        return delivered;
      case 'again':
        return { outcome: 'again', reason: verdict.reason, waitMs: verdict.waitMs };
      case 'refused':
        if (verdict.isByStranger && this.#mayPass())
          return { outcome: 'again', reason: verdict.reason, waitMs: undefined };
        return refusedAll(calls, { code: 'refused', message: verdict.reason });
    }
  }

  /** A wrong address is told at once, because nothing was ever delivered there. */
  #mayPass(): boolean {
    if (!this.#hasDelivered) return false;
    const nowMs = this.#clock.steadyNow();
    this.#strangerSinceMs ??= nowMs;
    return nowMs - this.#strangerSinceMs < strangerPatienceMs;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const controller of this.#running) controller.abort(new Error('closed'));
    return Promise.resolve();
  }

  async #post(body: string): Promise<Answer> {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      controller.abort(new Error(`no answer within ${this.#timeoutMs} ms`));
    }, this.#timeoutMs);
    this.#running.add(controller);
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: this.#headers,
        body,
        // A redirected POST becomes a GET.
        redirect: 'manual',
        signal: controller.signal,
      });
      const { status, headers } = response;
      const retryAfter = headers.get('retry-after');
      return { status, retryAfter, body: await beginningOf(response) };
    } finally {
      clearTimeout(timer);
      this.#running.delete(controller);
    }
  }
}

/** Many times the size of this protocol's answers. */
const mostAnswerBytes = 65_536;

/**
 * Most bodies are read to their end, so that the connection can be used again. A longer one ends the
 * connection. A body that breaks off changes nothing: the answer's status is there.
 */
async function beginningOf({ body }: Response): Promise<string> {
  if (body === null) return '';
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      bytes += chunk.length;
      if (bytes > mostAnswerBytes) break;
    }
  } catch {
    return text;
  }
  return text;
}

const head = `{"context":${JSON.stringify({ library })},"batch":[`;

/** The bytes of a body beside its calls and the commas between them. */
export const batchOverheadBytes: number = batchBody([], new Date(0)).length;

/**
 * `sentAt` is the time of this attempt. The gateway corrects each call's timestamp by the difference of the
 * clocks, and an earlier time would shift it by the delay of the retries.
 */
function batchBody(calls: readonly EncodedCall[], sentAt: Date): string {
  let body = head;
  let separator = '';
  for (const { json } of calls) {
    body += separator + json;
    separator = ',';
  }
  return `${body}],"sentAt":"${sentAt.toISOString()}"}`;
}

/** `fetch failed` has no information; its cause has. */
function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const reason = cause instanceof Error ? cause.message || cause.name : error.message;
  return `no answer: ${reason}`;
}

/** The endpoint's answer to a batch. */
interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: string;
}

type Verdict =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'again'; readonly reason: string; readonly waitMs: number | undefined }
  | {
      readonly kind: 'refused';
      readonly reason: string;
      /** It speaks of the endpoint, and is not in the form of the gateway's own refusals. */
      readonly isByStranger: boolean;
    };

/** Answers that the pipeline, too, takes to be about the endpoint, and not about what was sent. */
const aboutEndpoint: ReadonlySet<number> = new Set([401, 403, 404, 405, 407, 410]);

/**
 * Judges the gateway's answer as the pipeline judges an endpoint's (src/delivery/outcome.ts): 2xx is
 * delivered; 408, 425, 429 and 5xx are worth a repetition. Any other answer, including redirects, would be
 * the same again. That includes 401, 403, 404, 405, 407 and 410, which the pipeline tries again: what the gateway says
 * of a write key is reported to the program at once. Where a proxy in front of it says so, it may pass.
 */
export function judge({ status, retryAfter, body }: Answer, nowMs: number): Verdict {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  const reason = `the endpoint answered ${status}${explanation(body)}`;
  if (isPassing(status)) {
    return { kind: 'again', reason, waitMs: retryAfterMs(retryAfter, nowMs) };
  }
  const isByStranger = aboutEndpoint.has(status) && !isGateways(body);
  return { kind: 'refused', reason, isByStranger };
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
  const { message } = errorIn(body);
  return typeof message === 'string' ? message : undefined;
}

/** Each error of the gateway has a code. */
function isGateways(body: string): boolean {
  const { code, message } = errorIn(body);
  return typeof code === 'string' && typeof message === 'string';
}

function errorIn(body: string): { readonly code?: unknown; readonly message?: unknown } {
  try {
    const json: unknown = JSON.parse(body);
    return typeof json === 'object' && json !== null ? json : {};
  } catch {
    return {};
  }
}

/** Greatest `Retry-After` that is followed. */
const mostRetryAfterMs = 300_000;

/**
 * `Retry-After` (RFC 9110 §10.2.3), seconds, also with a fraction, or a date, as milliseconds from `nowMs`,
 * at most five minutes; undefined for anything else.
 */
export function retryAfterMs(value: string | null, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  const waitMs = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1_000 : dateOf(text) - nowMs;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(0, waitMs), mostRetryAfterMs);
}

/** NaN for anything but an HTTP date: Date.parse alone would accept "-5" too. */
function dateOf(text: string): number {
  return /^[A-Z][a-z]{2}, .*GMT$/.test(text) ? Date.parse(text) : NaN;
}
