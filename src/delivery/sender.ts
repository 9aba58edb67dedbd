import type { Outcome } from './outcome.ts';
import type { PreparedEndpoint } from './prepared-destination.ts';

/**
 * One request as the sender sees it, and the place to which its outcome goes. An object that lives as long
 * as the request anyway implements it, so that a delivery needs no promise and no closure.
 */
export interface Sending {
  readonly body: Buffer;
  readonly signature: string | undefined;
  readonly idempotencyHeader: string | undefined;
  readonly messageId: string;
  /** Called exactly once, never from within `send`. */
  settled(outcome: Outcome, endpointIndex: number, tookMs: number): void;
}

/** Does one POST within the attempt's deadline. Simulations have one of their own. */
export interface Sender {
  send(sending: Sending, endpoint: PreparedEndpoint, endpointIndex: number): void;
  /** Cuts what is still on its way; that has no outcome any more. */
  close(): Promise<void>;
}
