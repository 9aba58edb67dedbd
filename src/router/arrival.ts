import type { Origin } from '../event/parse-call.ts';
import { decodeOrigin, originHeader } from '../event/rejected-headers.ts';
import { isTime } from '../event/timestamp.ts';
import type { IncomingRecord } from '../kafka/record.ts';

export interface Arrival {
  readonly origin: Origin;
  /** When a record that was rejected was sent again. */
  readonly redrivenMs: number | undefined;
}

/**
 * Where a record first stood: its own place, unless it was rejected and sent again. Any producer can
 * write that header, so what it says must give no power that the call's own fields do not give: its
 * place only names a call that has no `messageId`, and its append time counts only backwards. A call
 * that claimed to come from the future would outlive every age limit and deletion.
 *
 * A record of before its topic had Kafka's append time may have any time, or none. One that cannot be is 0:
 * the call then counts as older than all others.
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
