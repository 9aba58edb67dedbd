import type { Outcome } from './outcome.ts';
import type { OAuth2 } from '../resources/schema/webhook-login.ts';
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
  /** The number of events whose outcomes the answer may tell apart; 0: it has one outcome. */
  readonly batchSize: number;
  /** The value of the header `Authorization`, with the URL's token; undefined: it needs none. */
  authorization(endpointIndex: number): string | undefined;
  /** False: nothing is sent to this URL for now, so a connection to it would only take memory. */
  mayFollow(endpointIndex: number): boolean;
  /** Called exactly once, never from within `send`. */
  settled(outcome: Outcome, endpointIndex: number, tookMs: number): void;
}

/** A token and the time for which its server says that it lives; or why there is none, in words for people. */
export type TokenAnswer =
  | { readonly kind: 'token'; readonly token: string; readonly lifeS?: number | undefined }
  | { readonly kind: 'none'; readonly detail: string };

/** Sends one request, or asks for a token, within the attempt's deadline. Simulations have their own implementation. */
export interface Sender {
  /** @param path with the query, as `pathTo` makes it for the event */
  send(sending: Sending, endpoint: PreparedEndpoint, endpointIndex: number, path: string): void;
  /** `told` is called exactly once, never from within `fetchToken`, and not at all after `close`. */
  fetchToken(login: OAuth2, told: (answer: TokenAnswer) => void): void;
  /** Ends requests in flight without an outcome. */
  close(): Promise<void>;
}
