import { ageFromMs, decodeEnvelope, envelopeHeader } from '../event/envelope.ts';
import type { Clock } from '../ops/clock.ts';
import type { Recalls } from '../resources/pauses/recall.ts';
import { Bundle } from './bundle/bundle.ts';
import { Job, type Claim, type TakenRecord } from './job.ts';
import type { Waiting } from './status/waiting-later.ts';

/** Why a record holds no event for this release. */
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

/** What a record of a retry topic holds while it waits. */
export function waitingOf(taken: Job | Bundle): Waiting {
  if (taken instanceof Bundle) return taken.header;
  const { destinationId, uid, deadlineMs } = taken.envelope;
  return { destinationId, uid, events: 1, oldestMs: ageFromMs(taken.envelope), deadlineMs };
}

interface Rules {
  readonly paused: { readonly recalls: Pick<Recalls, 'covers'> };
  readonly clock: Clock;
  /** See `fenceMs`. */
  readonly fenceMs: number;
}

/**
 * Whether the record may leave its retry topic before its time. The notification of a deletion waits in any case for as
 * long as a worker may not know of the deletion.
 */
export function isRecalled(taken: Job | Bundle, { paused, clock, fenceMs }: Rules): boolean {
  const { record } = taken;
  if (!paused.recalls.covers(waitingOf(taken), record)) return false;
  const isDeletion = taken instanceof Job && taken.envelope.type === 'delete';
  return !isDeletion || clock.now() >= record.timestampMs + fenceMs;
}
