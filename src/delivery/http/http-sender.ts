import { keptAnswerBytes } from '../../event/limits.ts';
import type { SteadyClock } from '../../ops/clock.ts';
import { compress } from '../compression.ts';
import { AddressGuard } from './address-guard.ts';
import { Connector } from './connector.ts';
import type { ConnectorOptions } from './connector.ts';
import { DeadlinesByLength, unhurried, type Deadlines } from './deadlines.ts';
import { HttpAttempt } from './http-attempt.ts';
import type { AttemptContext } from './http-attempt.ts';
import { longestIdleMs } from './idle-connections.ts';
import { CachingResolver } from './name-resolver.ts';
import { Proxy } from './proxy.ts';
import { OriginConnections } from './origin-connections.ts';
import type { OAuth2 } from '../../resources/schema/webhook-login.ts';
import { TokenClient } from './token-client.ts';
import type { PreparedEndpoint } from '../prepared-destination.ts';
import type { Sender, Sending, TokenAnswer } from '../sender.ts';

/** 16 KB of names and values, which is Node's own limit, plus what `countHeaders` adds for 128 headers. */
const maxHeadBytes = 24_576;

export interface HttpSenderOptions extends ConnectorOptions {
  readonly guard: AddressGuard;
  /** The most bytes that are kept of the body of an answer that is no success; 2 KB by default. */
  readonly keptAnswerBytes?: number;
}

/**
 * Sends requests with undici. Redirects are never followed and bodies never decoded: `dispatch` does neither.
 *
 * A server may close a kept connection at the moment when a request is sent on it, or may have sent more on it
 * than its previous answer. A request that got no answer then, not even its first byte, or bytes that are no
 * answer, is sent once more within the same attempt, on a new connection. The endpoint may get it twice, as
 * after any failure. Without the repetition, the attempt would fail without saying anything about the endpoint.
 */
export class HttpSender implements Sender, AttemptContext {
  readonly clock: SteadyClock;
  /** The deadlines of attempts at destinations without a timeout of their own. */
  readonly #deadlines: Deadlines;
  readonly #byLength: DeadlinesByLength;
  readonly connector: Connector;
  readonly keptAnswerBytes: number;
  readonly #kept: OriginConnections;
  readonly #single: OriginConnections;
  readonly #inner: Connector;
  readonly #tokens: TokenClient;
  #isClosed = false;

  constructor(options: HttpSenderOptions) {
    const { timeoutMs, clock } = options;
    this.clock = clock;
    this.#byLength = new DeadlinesByLength(unhurried(clock));
    this.#deadlines = this.#byLength.of(timeoutMs);
    this.connector = new Connector(options, this.#deadlines);
    this.keptAnswerBytes = options.keptAnswerBytes ?? keptAnswerBytes.usual;
    const common = {
      allowH2: false,
      maxHeaderSize: maxHeadBytes,
      // The attempt has one deadline for everything; undici's timeouts restart with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
      connectAs: this.connector.connectAs,
    };
    this.#kept = new OriginConnections({
      ...common,
      pipelining: 1,
      keepAliveTimeout: longestIdleMs,
      keepAliveMaxTimeout: longestIdleMs,
    });
    // With undici, this means that no connection is used twice.
    this.#single = new OriginConnections({ ...common, pipelining: 0 });
    this.#inner = new Connector(
      { ...options, guard: options.guard.ofNamedNetworks, proxy: undefined },
      this.#deadlines,
    );
    this.#tokens = new TokenClient({
      connect: this.connector.connect,
      connectUnencrypted: this.#inner.connect,
      timeoutMs,
    });
  }

  send(sending: Sending, endpoint: PreparedEndpoint, endpointIndex: number, path: string): void {
    const attempt = new HttpAttempt(sending, endpoint, endpointIndex, path, this);
    const { compression } = endpoint;
    if (compression?.isFor(sending.body, this.clock.steadyNow()) === true) this.#compress(attempt);
    else this.#dispatch(this.#kept, attempt);
  }

  deadlinesOf({ timeoutMs }: PreparedEndpoint): Deadlines {
    const isOwn = timeoutMs !== undefined && timeoutMs < this.#deadlines.timeoutMs;
    return isOwn ? this.#byLength.of(timeoutMs) : this.#deadlines;
  }

  sendAgain(attempt: HttpAttempt): void {
    this.#dispatch(this.#single, attempt);
  }

  fetchToken(login: OAuth2, told: (answer: TokenAnswer) => void): void {
    void this.#tokens.fetch(login).then((answer) => {
      if (!this.#isClosed) told(answer);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#byLength.close();
    this.connector.close();
    this.#inner.close();
    await Promise.all([this.#kept.destroy(), this.#single.destroy(), this.#tokens.close()]);
  }

  #compress(attempt: HttpAttempt): void {
    compress(attempt.body, (compressed) => {
      if (this.#isClosed || attempt.isSettled) return;
      attempt.body = compressed;
      attempt.isCompressed = true;
      this.#dispatch(this.#kept, attempt);
    });
  }

  #dispatch(connections: OriginConnections, attempt: HttpAttempt): void {
    const { sending, endpoint, path, body, authorization } = attempt;
    const headers = endpoint.headers.concat(sending.headers);
    if (attempt.isCompressed) headers.push('Content-Encoding', 'gzip');
    if (authorization !== undefined) headers.push('Authorization', authorization);
    this.connector.caller = attempt;
    connections.dispatch(
      endpoint,
      {
        path,
        method: endpoint.method,
        headers,
        body,
        reset: this.connector.areMany,
      },
      attempt,
    );
    this.connector.caller = undefined;
  }
}

export interface SenderSettings {
  readonly clock: SteadyClock;
  /** Limit for one whole attempt. */
  readonly timeoutMs: number;
  /** Networks in CIDR notation that requests may reach although they are not public. */
  readonly allowNetworks: readonly string[];
  /** The values of `DELIVERY_PROXY` and `DELIVERY_NO_PROXY`. */
  readonly proxyUrl?: string | undefined;
  readonly withoutProxy?: readonly string[];
  /** The value of `DELIVERY_ANSWER_BYTES`. */
  readonly keptAnswerBytes?: number;
}

/**
 * Sends to the public internet and to the allowed networks.
 * @throws PostriderError `setting-invalid` for a value that is not a network
 */
export function openSender({
  allowNetworks,
  proxyUrl,
  withoutProxy = [],
  ...settings
}: SenderSettings): Sender {
  const guard = new AddressGuard(allowNetworks);
  const proxy = proxyUrl === undefined ? undefined : new Proxy(proxyUrl, withoutProxy);
  const resolver = new CachingResolver(settings.clock);
  return new HttpSender({ ...settings, guard, proxy, resolver });
}
