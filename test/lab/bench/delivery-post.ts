import { createHmac, createSecretKey } from 'node:crypto';
import type { LookupFunction } from 'node:net';
import { Agent } from 'undici';
import type { Dispatcher } from 'undici';
import { Deadlines } from '../../../src/delivery/http/deadlines.ts';
import type { Timed } from '../../../src/delivery/http/deadlines.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { sharedSecret, timeoutMs } from './delivery-load.ts';
import type { DeliveryLoad } from './delivery-load.ts';

/** What a consumer brings. */
interface Item {
  readonly value: Buffer | null;
}

const maxAnswerBytes = 65_536;

/**
 * The least that can be called a delivery, behind any consumer: sign, POST with a deadline and a cap on the
 * answer, so many at a time. No order, no lanes, no breaker, no metrics, no retries.
 */
export class Poster<T extends Item> {
  delivered = 0;
  readonly #client: BareClient;
  readonly #maxInFlight: number;
  readonly #onSent: (item: T) => void;
  readonly #waiting: T[] = [];
  #next = 0;
  #inFlight = 0;
  #onEmpty: (() => void) | undefined;

  /** @param onSent its request has begun */
  constructor(load: Pick<DeliveryLoad, 'receiverPort' | 'inFlight'>, onSent: (item: T) => void) {
    this.#client = new BareClient(`http://127.0.0.1:${load.receiverPort}/bare`);
    this.#maxInFlight = load.inFlight;
    this.#onSent = onSent;
  }

  add(items: readonly T[]): void {
    for (const item of items) this.#waiting.push(item);
    this.#pump();
  }

  /** Resolves when a request has begun for everything that was added. */
  async emptied(): Promise<void> {
    if (this.#waiting.length > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
  }

  #pump(): void {
    const waiting = this.#waiting;
    while (this.#inFlight < this.#maxInFlight && this.#next < waiting.length) {
      const item = waiting[this.#next++];
      if (item === undefined) break;
      this.#send(item.value ?? Buffer.alloc(0));
      this.#onSent(item);
    }
    if (this.#next < waiting.length) return;
    waiting.length = 0;
    this.#next = 0;
    this.#onEmpty?.();
    this.#onEmpty = undefined;
  }

  #send(body: Buffer): void {
    this.#inFlight += 1;
    this.#client.post(body, () => {
      this.delivered += 1;
      this.#inFlight -= 1;
      this.#pump();
    });
  }
}

/** Signs and sends to one URL. */
export class BareClient {
  readonly #key = createSecretKey(sharedSecret, 'utf8');
  readonly #agent: Agent;
  readonly #deadlines = new Deadlines(systemClock, timeoutMs);
  readonly #origin: string;
  readonly #path: string;

  constructor(url: string, lookup?: LookupFunction) {
    const { origin, pathname } = new URL(url);
    this.#origin = origin;
    this.#path = pathname;
    this.#agent = new Agent({
      allowH2: false,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      ...(lookup === undefined ? {} : { connect: { lookup } }),
    });
  }

  post(body: Buffer, onAnswered: () => void): void {
    const request = new Request((answered) => {
      this.#deadlines.remove(answered);
      onAnswered();
    });
    this.#deadlines.add(request, systemClock.steadyNow());
    const signature = createHmac('sha1', this.#key).update(body).digest('hex');
    const headers = [
      'Content-Type',
      'application/json',
      'User-Agent',
      'Postrider/1.0',
      'CDN-Loop',
      'postrider',
      'X-Signature',
      signature,
    ];
    const target = {
      origin: this.#origin,
      path: this.#path,
      method: 'POST',
      headers,
      body,
    } as const;
    this.#agent.dispatch(target, request);
  }
}

class Request implements Dispatcher.DispatchHandler, Timed {
  deadlineMs = 0;
  earlier: Timed | undefined = undefined;
  later: Timed | undefined = undefined;
  #controller: Dispatcher.DispatchController | undefined = undefined;
  #bytes = 0;
  readonly #onAnswered: (request: Request) => void;

  constructor(onAnswered: (request: Request) => void) {
    this.#onAnswered = onAnswered;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (status !== 200) throw new Error(`answered ${status}`);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > maxAnswerBytes) controller.abort(new Error('too much'));
  }

  onResponseEnd(): void {
    this.#onAnswered(this);
  }

  onResponseError(_controller: unknown, error: Error): void {
    throw error;
  }

  onDeadline(): void {
    this.#controller?.abort(new Error('timeout'));
  }
}
