import {
  decodeEnvelope,
  encodeEnvelope,
  envelopeHeader,
  isFromNewerRelease,
  parseHeader,
  type Envelope,
} from '../event/envelope.ts';
import { reasonClass } from '../event/dead-letter-reasons.ts';
import { isSought } from '../event/sought.ts';
import { decodeLastAnswer, type LastAnswer } from '../event/last-answer.ts';
import { answerHeader, detailHeader, lastAnswerHeader, reasonHeader } from '../event/headers.ts';
import type { IncomingRecord, OutgoingRecord } from '../kafka/record.ts';
import type { Fence } from '../resources/fence/fence.ts';
import type { Letter } from './letter.ts';
import type { Objection } from './sift.ts';

/** An event that was given up. */
export interface DeadLetter extends Letter {
  /** Undefined if it cannot be read. */
  readonly envelope: Envelope | undefined;
  readonly destinationId: string;
  readonly user: string;
  /** The result of the last attempt; undefined if there was none, or an earlier release gave the event up. */
  readonly lastAnswer: LastAnswer | undefined;
}

const nothing = Buffer.from('null');

/** Reads a record of `dead-letter` for display and selection. */
export function readDeadLetter(record: IncomingRecord): DeadLetter {
  const { headers, key } = record;
  const header = headers[envelopeHeader];
  const envelope = header === undefined ? undefined : decodeEnvelope(header);
  // Ids of destinations have no colon; user ids may.
  const [, destinationId = '', user = ''] =
    /^(?:([^:]*):)?(.*)$/s.exec(key?.toString() ?? '') ?? [];
  return {
    record,
    reason: headers[reasonHeader]?.toString() ?? 'unknown',
    detail: headers[detailHeader]?.toString() ?? '',
    envelope,
    destinationId: envelope?.destinationId ?? destinationId,
    user,
    lastAnswer: decodeLastAnswer(parseHeader(headers[lastAnswerHeader] ?? nothing)),
  };
}

/** The beginning of the endpoint's last answer; null if there was none. */
export function answerOf({ record }: Pick<DeadLetter, 'record'>): Buffer | null {
  return record.headers[answerHeader] ?? null;
}

/** The way back of an event. */
export interface WayBack {
  readonly topic: string;
  /** See `partitionKeyOf`. */
  readonly partitionKey?: string | undefined;
  /** The offset up to which the configuration was known when this was decided: no worker may know less. */
  readonly configOffset: number;
}

/** To a letter with no event in it that could be sent. */
export function notWhole({ envelope, record }: DeadLetter): Objection | undefined {
  if (envelope !== undefined && record.value !== null) return undefined;
  if (isFromNewerRelease(record.headers[envelopeHeader]))
    return {
      why: 'because a newer release wrote them in a format that this one does not know',
      remedy: 'that release can send them',
    };
  return { why: 'because there is no event in it that can be read' };
}

/** Objects to an event whose user was deleted after it, because workers would drop it. */
export function deletedSince(
  { envelope, record }: DeadLetter,
  fence: Pick<Fence, 'covers'>,
): Objection | undefined {
  if (envelope === undefined || fence.covers(envelope, record.key) === undefined) return undefined;
  return { why: 'because their user was deleted after the call' };
}

/**
 * The event as it was, with its id, its bytes and its age, and a fresh clock: no attempts, no deadline.
 * @param letter a whole one
 */
export function redriven(
  { envelope, record }: DeadLetter,
  { topic, partitionKey, configOffset }: WayBack,
  nowMs: number,
): OutgoingRecord {
  if (envelope === undefined) throw new Error('a letter without an envelope cannot be sent');
  const fresh: Envelope = {
    ...envelope,
    configOffset,
    redrivenMs: nowMs,
    attempts: 0,
    deadlineMs: undefined,
    dueMs: undefined,
    lastAnswer: undefined,
  };
  const headers = { [envelopeHeader]: encodeEnvelope(fresh) };
  return { topic, partitionKey, key: record.key, value: record.value, headers };
}

/** The dead letters that an operator selects. A condition that is not given holds for all. */
export interface DeadLetterSelection {
  readonly destinations?: ReadonlySet<string> | undefined;
  /** Also classes such as `http-4xx`. */
  readonly reasons?: ReadonlySet<string> | undefined;
  readonly user?: string | undefined;
  readonly messageId?: string | undefined;
}

export function isSelectedDeadLetter(
  letter: DeadLetter,
  { destinations, reasons, user, messageId }: DeadLetterSelection,
): boolean {
  if (destinations !== undefined && !destinations.has(letter.destinationId)) return false;
  if (user !== undefined && !isSought(user)(letter.user)) return false;
  if (messageId !== undefined && !isSought(messageId)(letter.envelope?.messageId)) return false;
  if (reasons === undefined) return true;
  return reasons.has(letter.reason) || reasons.has(reasonClass(letter.reason));
}
