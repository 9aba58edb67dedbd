import { ageFromMs, decodeEnvelope, envelopeHeader } from '../event/envelope.ts';
import type { EventType } from '../event/call.ts';
import { latestDueMs } from '../event/tier-delay.ts';
import type { IncomingRecord } from '../kafka/record.ts';
import type { Clock } from '../ops/clock.ts';
import type { Recalls } from '../resources/pauses/recall.ts';
import { Bundle } from './bundle/bundle.ts';
import { Job, type Claim } from './job.ts';
import type { TakenRecord } from '../kafka/consume/taken-record.ts';
import type { Waiting } from './status/waiting-later.ts';

/** The reason why a record holds no event for this release. */
type Flaw = 'unreadable' | 'no body';

/** The event, or the several events, of a record. */
export function readTaken(record: TakenRecord, claim: Claim): Job | Bundle | Flaw {
  const header = record.headers[envelopeHeader];
  const envelope = header === undefined ? undefined : decodeEnvelope(header);
  const { value } = record;
  if (envelope !== undefined)
    return value === null ? 'no body' : new Job(record, claim, envelope, value);
  const bundle = Bundle.of(record, claim);
  if (bundle === undefined) return 'unreadable';
  return value === null ? 'no body' : bundle;
}

/** The events of a record of a retry topic, while it waits. */
export function waitingOf(taken: Job | Bundle): Waiting {
  if (taken instanceof Bundle) return taken.header;
  const { destinationId, uid, deadlineMs } = taken.envelope;
  return { destinationId, uid, events: 1, oldestMs: ageFromMs(taken.envelope), deadlineMs };
}

/** The part of an envelope, or of a bundle's header, that states when the record is due. */
interface Said {
  readonly dueMs?: number | undefined;
  readonly type?: EventType;
}

interface DueRules {
  readonly topics: { retryTierMs(topic: string): number | undefined };
  /** See `fenceMs`. */
  readonly fenceMs: number;
}

/**
 * The time when the record may be attempted; undefined: at once. The writer may have had a wrong clock or another
 * timeout, so Kafka's append time limits the stated time: at the latest, a record is due after its tier's
 * longest delay. Otherwise one record could stop its partition. Records of other topics do not wait. The
 * notification of a deletion waits for at least `fenceMs`.
 */
export function dueTimeMs(
  { dueMs, type }: Said,
  { topic, timestampMs: appendMs }: Pick<IncomingRecord, 'topic' | 'timestampMs'>,
  { topics, fenceMs }: DueRules,
): number | undefined {
  if (dueMs === undefined) return undefined;
  const latestMs = latestDueMs(topics.retryTierMs(topic) ?? 0, appendMs);
  const inTimeMs = Math.min(dueMs, latestMs);
  return type === 'delete' ? Math.max(inTimeMs, appendMs + fenceMs) : inTimeMs;
}

interface RecallRules {
  readonly paused: { readonly recalls: Pick<Recalls, 'covers'> };
  readonly clock: Clock;
  /** See `fenceMs`. */
  readonly fenceMs: number;
}

/**
 * The record may leave its retry topic before its time. The notification of a deletion waits in any case for as
 * long as a worker may not know of the deletion.
 */
export function isRecalled(taken: Job | Bundle, { paused, clock, fenceMs }: RecallRules): boolean {
  const { record } = taken;
  if (!paused.recalls.covers(waitingOf(taken), record)) return false;
  const isDeletion = taken instanceof Job && taken.envelope.type === 'delete';
  return !isDeletion || clock.now() >= record.timestampMs + fenceMs;
}
