import type { EncodedCall } from './encode-call.ts';
import type { AnalyticsErrorCode } from './error.ts';

/** Becomes an error where the caller's own copy of the error class is at hand. */
export interface Refusal {
  readonly code: Extract<AnalyticsErrorCode, 'refused' | 'no-kafkajs'>;
  readonly message: string;
  readonly cause?: unknown;
}

/** What became of a batch. */
export type SendResult =
  | {
      readonly outcome: 'settled';
      /** Single calls that were refused for good; all others are delivered. */
      readonly refused: ReadonlyMap<EncodedCall, Refusal>;
    }
  | {
      /** Nothing is known to have arrived: the whole batch has to be sent again. */
      readonly outcome: 'again';
      /** Undefined where it was ended by `close`, and nothing had failed before. */
      readonly reason: string | undefined;
      /** What the endpoint asks for, for itself and so for every batch. */
      readonly waitMs: number | undefined;
    };

export interface Transport {
  /** Batches on their way at a time. */
  readonly maxInFlight: number;
  /** Never rejects. */
  send(calls: readonly EncodedCall[]): Promise<SendResult>;
  /** Ends what is still being sent, and resolves when nothing of it holds the process. */
  close(): Promise<void>;
}

export const delivered: SendResult = { outcome: 'settled', refused: new Map() };

/** All calls of the batch alike. */
export function refusedAll(calls: readonly EncodedCall[], refusal: Refusal): SendResult {
  return { outcome: 'settled', refused: new Map(calls.map((call) => [call, refusal])) };
}
