import { maxDepth } from '../event/limits.ts';
import type { Rejection } from '../event/rejection.ts';

/** Thrown inside a decoder and caught at its end: why the bytes are not a call. */
export class DecodeError extends Error {
  readonly rejection: Rejection;

  constructor(reason: Rejection['reason'], detail: string) {
    super(detail);
    this.rejection = { reason, detail };
  }
}

export function misfit(detail: string): DecodeError {
  return new DecodeError('undecodable', detail);
}

export function tooDeep(): DecodeError {
  return new DecodeError('too-deep', `Objects and arrays are nested deeper than ${maxDepth}.`);
}
