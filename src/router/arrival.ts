import type { Origin } from '../event/parse-call.ts';
import { decodeOrigin, originHeader } from '../event/rejected-headers.ts';
import { isTime } from '../event/timestamp.ts';
import type { IncomingRecord } from '../kafka/record.ts';

export interface Arrival {
  readonly origin: Origin;
  /** When a rejected record was sent again. */
  readonly redrivenMs: number | undefined;
}

/**
 * The place where a record first arrived: its own place, unless it was rejected and sent again. Any producer
 * can write that header, so it must not allow more than the call's own fields do: its place only names a call
 * without a `messageId`, and its append time may only make a call older. A call that claimed to come from the
 * future would outlive every age limit and deletion.
 *
 * A record from before its topic had Kafka's append time may have any time, or none. An impossible time
 * becomes 0, so the call counts as older than all others.
 */
export function arrivalOf(record: IncomingRecord): Arrival {
  const { topic, partition, offset } = record;
  const timestampMs = isTime(record.timestampMs) ? record.timestampMs : 0;
  const first = decodeOrigin(record.headers[originHeader]);
  if (first === undefined) {
    const origin = { topic, partition, offset, appendTimeMs: timestampMs };
    return { origin, redrivenMs: undefined };
  }
  const appendTimeMs = Math.min(first.appendTimeMs, timestampMs);
  return { origin: { ...first, appendTimeMs }, redrivenMs: timestampMs };
}
