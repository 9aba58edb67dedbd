import type { Outcome } from './outcome.ts';
import type { PreparedEndpoint } from './prepared-destination.ts';

/**
 * A request as the sender sees it, and the receiver of its outcome. An object that lives as long as the
 * request implements it, so that a delivery needs no promise and no closure.
 */
export interface Sending {
  readonly body: Buffer;
  /** Names and values in turn, beside those of the endpoint; see `PreparedDestination.headersOf`. */
  readonly headers: readonly string[];
  readonly messageId: string;
  /** False: nothing is sent to this URL for now, so a connection to it would only take memory. */
  mayFollow(endpointIndex: number): boolean;
  /** Called exactly once, never from within `send`. */
  settled(outcome: Outcome, endpointIndex: number, tookMs: number): void;
}

/** Sends one POST within the attempt's deadline. Simulations have their own implementation. */
export interface Sender {
  send(sending: Sending, endpoint: PreparedEndpoint, endpointIndex: number): void;
  /** Ends requests in flight without an outcome. */
  close(): Promise<void>;
}
