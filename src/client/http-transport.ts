import { judge, type Answer } from './answer.ts';
import { systemClock } from './clock.ts';
import type { EncodedCall } from './encode-call.ts';
import { library } from './library.ts';
import { delivered, refusedAll, type SendResult, type Transport } from './transport.ts';

export interface HttpTransportOptions {
  readonly url: string;
  readonly writeKey: string;
  /** For a whole request, including its answer. Default 20 s, more than the gateway waits for Kafka. */
  readonly timeoutMs?: number;
}

/** Sends batches to the gateway, by Node's own `fetch`. */
export class HttpTransport implements Transport {
  /** Enough for 6,000 calls a second at 50 ms a request, and few enough for a gateway in trouble. */
  readonly maxInFlight = 16;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #running = new Set<AbortController>();
  #isClosed = false;

  constructor({ url, writeKey, timeoutMs = 20_000 }: HttpTransportOptions) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
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
        return delivered;
      case 'again':
        return { outcome: 'again', reason: verdict.reason, waitMs: verdict.waitMs };
      case 'refused':
        return refusedAll(calls, { code: 'refused', message: verdict.reason });
    }
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

/** What a body has beside its calls and the commas between them. */
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
