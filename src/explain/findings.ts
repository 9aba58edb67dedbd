import { PostriderError } from '../errors.ts';
import type { IncomingRecord } from '../kafka/record.ts';

/** A story of more is read by nobody, and a sender may give all its calls one id. */
const mostItems = 2_000;
/** Anybody can send calls that are large together with the fields of their batch. A search keeps a few such lists. */
const mostBytes = 24 * 1024 * 1024;

/** What one search has found, bounded by its number and by the memory that it takes. */
export class Findings<T> {
  readonly items: T[] = [];
  readonly #messageId: string;
  #bytes = 0;

  constructor(messageId: string) {
    this.#messageId = messageId;
  }

  /** @throws PostriderError `input-invalid` where there is no more room */
  add(item: T, bytes: number): void {
    this.#bytes += bytes;
    const most =
      this.items.length >= mostItems
        ? `more than ${mostItems} records`
        : this.#bytes > mostBytes
          ? `records with more than ${mostBytes / 1024 / 1024} MB`
          : undefined;
    if (most === undefined) this.items.push(item);
    else
      throw new PostriderError(
        'input-invalid',
        `${most} have the message id ${this.#messageId}; ask with the user of the call, or for a shorter time`,
      );
  }
}

/** What a few texts and numbers take at most, such as a line of `attempts` with the beginning of an answer. */
export const factsBytes: number = 4 * 1024;

export function bytesOf({ key, value, headers }: IncomingRecord): number {
  const ofHeaders = Object.values(headers).reduce((sum, each) => sum + (each?.length ?? 0), 0);
  return factsBytes + (key?.length ?? 0) + (value?.length ?? 0) + ofHeaders;
}
