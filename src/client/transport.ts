import type { EncodedCall } from './encode-call.ts';
import type { AnalyticsErrorCode } from './errors.ts';

/** Becomes an error in the entry module, which has the caller's own copy of the error class. */
export interface Refusal {
  readonly code: Extract<AnalyticsErrorCode, 'refused' | 'no-kafkajs'>;
  readonly message: string;
  readonly cause?: unknown;
}

/** The result of sending a batch. */
export type SendResult =
  | {
      readonly outcome: 'settled';
      /** Single calls that were refused permanently; all others are delivered. */
      readonly refused: ReadonlyMap<EncodedCall, Refusal>;
    }
  | {
      /** Nothing is known to have arrived, so the whole batch has to be sent again. */
      readonly outcome: 'again';
      /** Undefined if `close` ended it, and nothing had failed before. */
      readonly reason: string | undefined;
      /** The wait that the endpoint asks for, which applies to every batch. */
      readonly waitMs: number | undefined;
    };

export interface Transport {
  /** Number of batches in flight at a time. */
  readonly maxInFlight: number;
  /** Never rejects. */
  send(calls: readonly EncodedCall[]): Promise<SendResult>;
  /** Ends what is still being sent, and resolves when nothing keeps the process alive. */
  close(): Promise<void>;
}

export const delivered: SendResult = { outcome: 'settled', refused: new Map() };

/** All calls of the batch alike. */
export function refusedAll(calls: readonly EncodedCall[], refusal: Refusal): SendResult {
  return { outcome: 'settled', refused: new Map(calls.map((call) => [call, refusal])) };
}

/** The library's name and version, in each batch's context and in the user agent. */
export const library: { readonly name: string; readonly version: string } = {
  name: 'postrider-client',
  version: '0.1.0',
};
