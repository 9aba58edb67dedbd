import type { SteadyClock } from '../../ops/clock.ts';
import { AddressGuard } from './address-guard.ts';
import { Connections } from './connections.ts';
import { Connector } from './connector.ts';
import { Deadlines } from './deadlines.ts';
import { HttpAttempt } from './http-attempt.ts';
import type { AttemptContext } from './http-attempt.ts';
import { IdleConnections, longestIdleMs } from './idle-connections.ts';
import { CachingResolver, type NameResolver } from './name-resolver.ts';
import { OriginConnections } from './origin-connections.ts';
import type { PreparedEndpoint } from '../prepared-destination.ts';
import type { Sender, Sending } from '../sender.ts';
import { unhurried } from './unhurried-clock.ts';

/** 16 KB of names and values, which is Node's own limit, plus what `countHeaders` adds for 128 headers. */
const maxHeadBytes = 24_576;

/**
 * Busy connections are bounded by the requests in flight. Idle ones would be bounded only by time: 5,000
 * endpoints with bursts of 64 requests could leave 320,000. Each costs about 11 KB, more with TLS.
 */
const maxKeptConnections = 10_000;

export interface HttpSenderOptions {
  /** For the whole attempt: name, connection, request and answer. */
  readonly timeoutMs: number;
  readonly guard: AddressGuard;
  readonly resolver: NameResolver;
  readonly clock: SteadyClock;
  /** With so many connections open, none is kept after its answer; 10,000 by default. */
  readonly maxKept?: number;
}

/**
 * Sends requests with undici. Redirects are never followed and bodies never decoded: `dispatch` does neither.
 *
 * A server may close a kept connection at the moment when a request is sent on it, or may have sent more on it
 * than its previous answer. A request that got no answer then, not even its first byte, or bytes that are no
 * answer, is sent once more within the same attempt, on a new connection. The endpoint may get it twice, as
 * after any failure. Without the repetition, the attempt would fail without saying anything about the endpoint.
 */
export class HttpSender implements Sender {
  readonly #kept: OriginConnections;
  readonly #single: OriginConnections;
  readonly #connections: Connections;
  readonly #connector: Connector;
  readonly #idle: IdleConnections;
  readonly #context: AttemptContext;
  readonly #deadlines: Deadlines;

  constructor(options: HttpSenderOptions) {
    const { timeoutMs, guard, resolver, clock } = options;
    const connections = new Connections(options.maxKept ?? maxKeptConnections);
    const deadlines = new Deadlines(unhurried(clock), timeoutMs);
    const idle = new IdleConnections(clock);
    this.#connections = connections;
    this.#deadlines = deadlines;
    this.#idle = idle;
    this.#connector = new Connector({
      timeoutMs,
      clock,
      guard,
      resolver,
      connections,
      idle,
      deadlines,
    });
    const sendAgain = (attempt: HttpAttempt): void => {
      this.#dispatch(this.#single, attempt);
    };
    this.#context = { clock, deadlines, connections, sendAgain };
    const common = {
      allowH2: false,
      maxHeaderSize: maxHeadBytes,
      // The attempt has one deadline for everything; undici's timeouts restart with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: this.#connector.connect,
    };
    this.#kept = new OriginConnections({
      ...common,
      pipelining: 1,
      keepAliveTimeout: longestIdleMs,
      keepAliveMaxTimeout: longestIdleMs,
    });
    // With undici, this means that no connection is used twice.
    this.#single = new OriginConnections({ ...common, pipelining: 0 });
  }

  send(sending: Sending, endpoint: PreparedEndpoint, endpointIndex: number): void {
    this.#dispatch(this.#kept, new HttpAttempt(sending, endpoint, endpointIndex, this.#context));
  }

  async close(): Promise<void> {
    this.#deadlines.close();
    this.#idle.close();
    this.#connector.close();
    await Promise.all([this.#kept.destroy(), this.#single.destroy()]);
  }

  #dispatch(connections: OriginConnections, attempt: HttpAttempt): void {
    const { sending, endpoint } = attempt;
    const { body, headers } = sending;
    this.#connections.caller = attempt;
    connections.dispatch(
      endpoint.origin,
      {
        path: endpoint.path,
        method: 'POST',
        headers: endpoint.headers.concat(headers),
        body,
        reset: this.#connections.areMany,
      },
      attempt,
    );
    this.#connections.caller = undefined;
  }
}

export interface SenderSettings {
  readonly clock: SteadyClock;
  /** Limit for one whole attempt. */
  readonly timeoutMs: number;
  /** Networks in CIDR notation that requests may reach although they are not public. */
  readonly allowNetworks: readonly string[];
}

/**
 * Sends to the public internet and to the allowed networks.
 * @throws PostriderError `setting-invalid` for a value that is not a network
 */
export function openSender({ clock, timeoutMs, allowNetworks }: SenderSettings): Sender {
  const guard = new AddressGuard(allowNetworks);
  return new HttpSender({ timeoutMs, guard, resolver: new CachingResolver(clock), clock });
}
