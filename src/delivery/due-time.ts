import type { EventType } from '../event/call.ts';
import { latestDueMs } from '../event/tier-delay.ts';
import type { IncomingRecord } from '../kafka/record.ts';

/** The part of an envelope, or of a bundle's header, that states when the record is due. */
interface Said {
  readonly dueMs?: number | undefined;
  readonly type?: EventType;
}

interface Rules {
  readonly topics: { retryTierMs(topic: string): number | undefined };
  /** See `fenceMs`. */
  readonly fenceMs: number;
}

/**
 * When the record may be attempted; undefined: at once. The writer may have had a wrong clock or another
 * timeout, so Kafka's append time limits the stated time: at the latest, a record is due after its tier's
 * longest delay. Otherwise one record could stop its partition. Records of other topics do not wait. The
 * notification of a deletion waits for at least `fenceMs`.
 */
export function dueTimeMs(
  { dueMs, type }: Said,
  { topic, timestampMs: appendMs }: Pick<IncomingRecord, 'topic' | 'timestampMs'>,
  { topics, fenceMs }: Rules,
): number | undefined {
  if (dueMs === undefined) return undefined;
  const latestMs = latestDueMs(topics.retryTierMs(topic) ?? 0, appendMs);
  const inTimeMs = Math.min(dueMs, latestMs);
  return type === 'delete' ? Math.max(inTimeMs, appendMs + fenceMs) : inTimeMs;
}
