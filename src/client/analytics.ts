import type { CallType } from '../event/call.ts';
import { BatchSender } from './batch-sender.ts';
import type {
  AliasCall,
  GroupCall,
  IdentifyCall,
  PageCall,
  ScreenCall,
  TrackCall,
} from './calls.ts';
import { systemClock } from './clock.ts';
import { debugLog, type DebugLog } from './debug.ts';
import { encodeCall, type EncodedCall } from './encode-call.ts';
import { AnalyticsError } from './error.ts';
import { batchOverheadBytes } from './http-transport.ts';
import { library } from './library.ts';
import { maxBodyBytes } from '../event/limits.ts';
import { openTransport } from './open-transport.ts';
import {
  closeTimeoutMs,
  readOptions,
  type AnalyticsOptions,
  type CloseOptions,
  type Options,
} from './options.ts';
import { Outbox } from './outbox.ts';
import { warn } from './warning.ts';

/**
 * Records calls for one source and sends them in the background.
 *
 * Each method checks the call, puts it into memory and returns its message id; nothing is sent before
 * it returns. A call that it accepts is delivered at least once, unless the endpoint refuses it for
 * good, or the process or `close()` ends before; `onError` is told of each that was given up.
 * While calls wait, the process stays alive; `process.exit()` loses what was not sent: await `close()`
 * before.
 *
 * Every method throws an AnalyticsError, and nothing is queued then: `invalid-call`, `unserializable`,
 * `too-large`, `queue-full`, `closed`.
 */
export class Analytics {
  readonly #options: Options;
  readonly #debug: DebugLog | undefined = debugLog();
  readonly #sender: BatchSender;
  readonly #outbox: Outbox;
  /** Accepted and not settled. */
  #queued = 0;
  #closed: Promise<void> | undefined;
  readonly #context: object | undefined;

  /** @throws AnalyticsError `invalid-option` */
  constructor(writeKey: string, options: AnalyticsOptions = {}) {
    this.#options = readOptions(writeKey, options);
    const { transport, flushAt, flushAfterMs } = this.#options;
    // A batch over HTTP says so once for all its calls.
    this.#context = transport.kind === 'kafka' ? { library } : undefined;
    this.#sender = new BatchSender({
      transport: openTransport(transport, writeKey, this.#debug),
      clock: systemClock,
      random: Math.random,
      onSettled: (call, error) => {
        this.#settled(call, error);
      },
      warn,
      debug: this.#debug,
    });
    this.#outbox = new Outbox({
      sender: this.#sender,
      ...{ flushAt, flushAfterMs, clock: systemClock },
      maxBatchBytes: maxBodyBytes - batchOverheadBytes,
    });
  }

  /** Ties a user to traits. Returns the message id. */
  identify(call: IdentifyCall): string {
    return this.#accept('identify', call);
  }

  /** Records what a user did. Returns the message id. */
  track(call: TrackCall): string {
    return this.#accept('track', call);
  }

  /** Records that a user saw a page. Returns the message id. */
  page(call: PageCall): string {
    return this.#accept('page', call);
  }

  /** Records that a user saw a screen of an app. Returns the message id. */
  screen(call: ScreenCall): string {
    return this.#accept('screen', call);
  }

  /** Ties a user to a group. Returns the message id. */
  group(call: GroupCall): string {
    return this.#accept('group', call);
  }

  /** Ties one identity of a user to another. Returns the message id. */
  alias(call: AliasCall): string {
    return this.#accept('alias', call);
  }

  /** Sends what is queued now, and resolves when every call accepted so far is delivered or given up. */
  async flush(): Promise<void> {
    this.#outbox.flush();
    await this.#sender.settled();
  }

  /**
   * Takes no further calls and sends what is queued, for at most `timeoutMs` (default 60,000,
   * `Infinity` for as long as it takes). A second call returns the same promise.
   * @throws AnalyticsError `not-delivered` if calls were left then, which `onError` gets one by one;
   * `invalid-option` for a `timeoutMs` that is none, and the client stays open
   */
  close(options: CloseOptions = {}): Promise<void> {
    if (this.#closed !== undefined) return this.#closed;
    const timeoutMs = closeTimeoutMs(options);
    if (timeoutMs instanceof AnalyticsError) return Promise.reject(timeoutMs);
    this.#closed = this.#close(timeoutMs);
    return this.#closed;
  }

  #accept(type: CallType, given: unknown): string {
    if (this.#closed !== undefined) {
      throw new AnalyticsError('closed', 'The client is closed and takes no more calls.');
    }
    const { maxQueued, anonymousPages } = this.#options;
    if (this.#queued >= maxQueued) {
      throw new AnalyticsError('queue-full', `${maxQueued} calls wait already.`);
    }
    const context = this.#context;
    const call = encodeCall(type, given, { anonymousPages, nowMs: Date.now(), context });
    this.#queued += 1;
    this.#debug?.(`queued ${type} ${call.messageId}, ${this.#queued} calls wait`);
    this.#outbox.add(call);
    return call.messageId;
  }

  async #close(timeoutMs: number): Promise<void> {
    this.#debug?.(`closing, ${this.#queued} calls wait`);
    this.#outbox.flush();
    const givenUp = await this.#sender.close(timeoutMs);
    this.#debug?.('closed');
    if (givenUp > 0) {
      const message = `Calls that could not be delivered in time: ${givenUp}.`;
      throw new AnalyticsError('not-delivered', this.#sender.withLastFailure(message));
    }
  }

  #settled({ messageId, type, json }: EncodedCall, error: AnalyticsError | undefined): void {
    this.#queued -= 1;
    const call = { messageId, type, json };
    try {
      if (error === undefined) this.#options.onDelivered(call);
      else this.#options.onError(error, call);
    } catch (thrown) {
      warn(`onDelivered or onError threw: ${String(thrown)}`, 'callback-threw');
    }
  }
}
