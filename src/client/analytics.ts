import type { CallType } from '../event/call.ts';
import { BatchSender, Outbox } from './sending.ts';
import type {
  AcceptedCall,
  AliasCall,
  GroupCall,
  IdentifyCall,
  PageCall,
  ScreenCall,
  TrackCall,
} from './calls.ts';
import { systemClock } from './clock.ts';
import { debugLog, type DebugLog, warn } from './warnings.ts';
import { encodeCall, type EncodedCall } from './encode-call.ts';
import { AnalyticsError, Losses } from './errors.ts';
import { batchOverheadBytes } from './http-transport.ts';
import { library } from './transport.ts';
import { maxBodyBytes } from '../event/limits.ts';
import { openTransport } from './open-transport.ts';
import {
  closeTimeoutMs,
  readOptions,
  type AnalyticsOptions,
  type CloseOptions,
  type Options,
} from './options.ts';

/**
 * Records calls for one source and sends them in the background.
 *
 * Each method checks the call, puts it into memory and returns its message id; nothing is sent before it
 * returns. A valid call is delivered at least once, unless the queue is full or closed, the endpoint refuses
 * it permanently, or the process or `close()` ends before. `onError` gets each lost call. While calls wait,
 * the process stays alive; `process.exit()` loses what was not sent, so await `close()` before.
 *
 * A method throws an AnalyticsError only for an invalid call, which is a mistake in the program:
 * `invalid-call`, `unserializable`, `too-large`.
 */
export class Analytics {
  readonly #options: Options;
  readonly #debug: DebugLog | undefined = debugLog();
  readonly #sender: BatchSender;
  readonly #outbox: Outbox;
  /** Calls that were accepted and are not settled. */
  #queued = 0;
  #closed: Promise<void> | undefined;
  #isTellingLoss = false;
  readonly #losses = new Losses();
  readonly #context: object | undefined;

  /** @throws AnalyticsError `invalid-option` */
  constructor(writeKey: string, options: AnalyticsOptions = {}) {
    this.#options = readOptions(writeKey, options);
    const { transport, flushAt, flushAfterMs } = this.#options;
    // A batch over HTTP has the context once for all its calls.
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
      flushAt,
      flushAfterMs,
      clock: systemClock,
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

  /**
   * Sends what is queued now, and resolves when every call made so far is delivered.
   * @throws CallsLostError if calls were lost, then or since the flush before, whether or not `onError` got
   * them
   */
  async flush(): Promise<void> {
    this.#outbox.flush();
    await this.#losses.tellAfter(this.#sender.settled());
  }

  /**
   * Accepts no further calls and sends what is queued, for at most `timeoutMs` (default 60,000, `Infinity`
   * for as long as it takes). A second call returns the same promise.
   * @throws CallsLostError as `flush` does, also for calls that were left at the end of that time;
   * AnalyticsError `invalid-option` for an invalid `timeoutMs`, and the client stays open
   */
  close(options: CloseOptions = {}): Promise<void> {
    if (this.#closed !== undefined) return this.#closed;
    const timeoutMs = closeTimeoutMs(options);
    if (timeoutMs instanceof AnalyticsError) return Promise.reject(timeoutMs);
    this.#closed = this.#losses.tellAfter(this.#close(timeoutMs));
    return this.#closed;
  }

  #accept(type: CallType, given: unknown): string {
    const { maxQueued, anonymousPages } = this.#options;
    const context = this.#context;
    const call = encodeCall(type, given, { anonymousPages, nowMs: systemClock.now(), context });
    if (this.#closed !== undefined) {
      this.#lost(call, new AnalyticsError('closed', 'The client is closed.'));
    } else if (this.#queued >= maxQueued) {
      this.#lost(call, new AnalyticsError('queue-full', `${maxQueued} calls wait already.`));
    } else {
      this.#queued += 1;
      this.#debug?.(`queued ${type} ${call.messageId}, ${this.#queued} calls wait`);
      this.#outbox.add(call);
    }
    return call.messageId;
  }

  async #close(timeoutMs: number): Promise<void> {
    this.#debug?.(`closing, ${this.#queued} calls wait`);
    this.#outbox.flush();
    await this.#sender.close(timeoutMs);
    this.#debug?.('closed');
  }

  #settled(call: EncodedCall, error: AnalyticsError | undefined): void {
    this.#queued -= 1;
    if (error !== undefined) {
      this.#lost(call, error);
      return;
    }
    tell(() => {
      this.#options.onDelivered(seen(call));
    });
  }

  #lost(call: EncodedCall, error: AnalyticsError): void {
    this.#losses.add(error);
    // A callback that makes calls would otherwise be called for them without end while the queue is full.
    if (this.#isTellingLoss) return;
    this.#isTellingLoss = true;
    tell(() => {
      this.#options.onError(error, seen(call));
    });
    this.#isTellingLoss = false;
  }
}

/** The part of a call that callbacks get. */
function seen({ messageId, type, json }: EncodedCall): AcceptedCall {
  return { messageId, type, json };
}

function tell(callback: () => void): void {
  try {
    callback();
  } catch (thrown) {
    warn(`onDelivered or onError threw: ${String(thrown)}`, 'callback-threw');
  }
}
