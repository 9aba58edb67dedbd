import type { SteadyClock } from '../../ops/clock.ts';
import type { AddressGuard } from './address-guard.ts';
import { Connections } from './connections.ts';
import { guardedConnector } from './connector.ts';
import { Deadlines } from './deadlines.ts';
import { HttpAttempt } from './http-attempt.ts';
import type { AttemptContext } from './http-attempt.ts';
import { IdleConnections } from './idle-connections.ts';
import type { NameResolver } from './name-resolver.ts';
import { OriginPools } from './origin-pools.ts';
import { requestHeaders } from '../prepared-destination.ts';
import type { PreparedEndpoint } from '../prepared-destination.ts';
import type { Sender, Sending } from '../sender.ts';
import { unhurried } from './unhurried-clock.ts';

/** An endpoint may ask for less by `Keep-Alive: timeout=…`, or for up to a minute. */
const keepAliveMs = 30_000;
const maxKeepAliveMs = 60_000;

/** 16 KB of names and values, as Node reads, and what `countHeaders` adds for 128 of them. */
const maxHeadBytes = 24_576;

/**
 * Busy connections are bounded by the requests in flight; idle ones would be so only by their time, and
 * 5,000 endpoints that are sent to in bursts of 64 could leave 320,000. One costs about 11 KB, with TLS more.
 */
const maxKeptConnections = 10_000;

export interface HttpSenderOptions {
  /** For the whole attempt: name, connection, request, answer. */
  readonly timeoutMs: number;
  readonly guard: AddressGuard;
  readonly resolver: NameResolver;
  readonly clock: SteadyClock;
  /** With so many connections open none is kept after its answer; 10,000 by default. */
  readonly maxKept?: number;
}

/**
 * Sends with undici. Redirects are never followed and bodies never decoded: `dispatch` does neither.
 *
 * A server may close a kept connection at the moment when a request goes out on it. What had no answer
 * then, not even its first byte, is sent once more within the same attempt, on a connection of its own.
 * The endpoint may have seen it twice, as after any failure; not sending it would be a failed attempt that
 * says nothing about the endpoint.
 */
export class HttpSender implements Sender {
  readonly #kept: OriginPools;
  readonly #single: OriginPools;
  readonly #connections: Connections;
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
    const sendAgain = (attempt: HttpAttempt): void => {
      this.#dispatch(this.#single, attempt);
    };
    this.#context = { clock, deadlines, connections, sendAgain };
    const common = {
      allowH2: false,
      maxHeaderSize: maxHeadBytes,
      // Ours is one deadline over all of it; these restart with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: guardedConnector({ timeoutMs, clock, guard, resolver, connections, idle }),
    };
    this.#kept = new OriginPools({
      ...common,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: maxKeepAliveMs,
    });
    // undici's way to say that no connection is used twice.
    this.#single = new OriginPools({ ...common, pipelining: 0 });
  }

  send(sending: Sending, endpoint: PreparedEndpoint, endpointIndex: number): void {
    this.#dispatch(this.#kept, new HttpAttempt(sending, endpoint, endpointIndex, this.#context));
  }

  async close(): Promise<void> {
    this.#deadlines.close();
    this.#idle.close();
    await Promise.all([this.#kept.destroy(), this.#single.destroy()]);
  }

  #dispatch(pools: OriginPools, attempt: HttpAttempt): void {
    const { sending, endpoint } = attempt;
    const { body, signature, idempotencyHeader, messageId } = sending;
    const connections = this.#connections;
    connections.caller = attempt;
    pools.dispatch(
      endpoint.origin,
      {
        path: endpoint.path,
        method: 'POST',
        headers: requestHeaders(endpoint, signature, idempotencyHeader, messageId),
        body,
        reset: connections.areMany,
      },
      attempt,
    );
    connections.caller = undefined;
  }
}
