import { PostriderError } from '../../errors.ts';

/** Waiting bytes of a partition that cannot be written, beyond which records that have another place wait no longer. */
const mostWaitingBytes = 1024 * 1024;
/** A partition that cannot be written is tried again with one record, so long after it failed last. */
const probeAfterMs = 10_000;
/** Elections take less, and are no trouble. */
const notableAfterMs = 10_000;
/** A partition that nobody has written to for this long may be well again. */
const forgottenAfterMs = 60_000;

/** Since when a partition, or a whole topic, cannot be written although Kafka answers. */
export class WriteTrouble {
  #sinceMs: number | undefined;
  #failedMs = -Infinity;
  #reason = '';

  /** A batch failed. Without an answer of a broker, that says nothing of the partition: all of Kafka may be away. */
  failed(reason: string, nowMs: number): void {
    if (!isNameOfKafka(reason)) return;
    this.#sinceMs ??= nowMs;
    this.#failedMs = nowMs;
    this.#reason = reason;
  }

  /** Something was written. */
  ended(): void {
    this.#sinceMs = undefined;
  }

  /** Tells whether a record that has another place should be there, and not wait. */
  isTooLongFor(
    { elsewhereAfterMs }: { readonly elsewhereAfterMs: number | undefined },
    waitingBytes: number,
    nowMs: number,
  ): boolean {
    if (this.#sinceMs === undefined || elsewhereAfterMs === undefined) return false;
    return nowMs - this.#sinceMs >= elsewhereAfterMs || waitingBytes > mostWaitingBytes;
  }

  /** Tells whether the next record should be tried, to find out whether the trouble is over. */
  isDueForProbe(nowMs: number): boolean {
    return nowMs - this.#failedMs >= probeAfterMs;
  }

  /** Tells whether somebody should look. */
  isNotable(nowMs: number): boolean {
    if (this.#sinceMs === undefined || nowMs - this.#failedMs > forgottenAfterMs) return false;
    return nowMs - this.#sinceMs >= notableAfterMs;
  }

  /** For the owner of a record that comes back. */
  error(topic: string): PostriderError {
    return new PostriderError('unwritable', `topic ${topic} cannot be written: ${this.#reason}`);
  }
}

/** Errors of connections have names of classes. */
function isNameOfKafka(reason: string): boolean {
  return reason !== 'NETWORK_EXCEPTION' && /^[A-Z][A-Z_]+$/.test(reason);
}
