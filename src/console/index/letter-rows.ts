import { markOf } from '../../dead-letter/redrives.ts';
import { decodeEnvelope, envelopeHeader, parseHeader } from '../../event/envelope.ts';
import { decodeLastAnswer } from '../../event/last-answer.ts';
import {
  answerHeader,
  decodeOrigin,
  detailHeader,
  lastAnswerHeader,
  originHeader,
  reasonHeader,
  chooseWriteKey,
  writeKeyField,
  writeKeyHeader,
} from '../../event/headers.ts';
import { keptAnswerBytes } from '../../event/limits.ts';
import { textFieldIn } from '../../event/text-field.ts';
import { idIn, identityText } from '../../event/uid.ts';
import type { IncomingRecord } from '../../kafka/record.ts';
import type { DeadLetter, RejectedCall } from '../api/answers/events.ts';
import { letterKinds, type LetterRow, type SentAgainRow } from './schema.ts';
import type { Words } from './words.ts';

/** A text that somebody else wrote is cut after so many characters. */
const mostDetailCharacters = 500;
/** With the mark of a cut. */
const mostAnswerBytes = keptAnswerBytes.most + 4;
const mostSampleBytes = 512;

/** The fields without a column of their own. */
type DeadLetterRest = Omit<DeadLetter, 'place' | 'at' | 'destination' | 'reason' | 'sentAgain'>;
type RejectedRest = Omit<RejectedCall, 'place' | 'at' | 'source' | 'reason' | 'sentAgain'>;

/** A record of `dead-letter`; of its body only the size is kept. */
export function rowOfDeadLetter(record: IncomingRecord, words: Words): LetterRow {
  const { headers, key } = record;
  const header = headers[envelopeHeader];
  const envelope = header === undefined ? undefined : decodeEnvelope(header);
  // Ids of destinations have no colon; those of users may.
  const [, destination = '', user = ''] = /^(?:([^:]*):)?(.*)$/s.exec(key?.toString() ?? '') ?? [];
  const last = decodeLastAnswer(parseHeader(headers[lastAnswerHeader] ?? Buffer.from('null')));
  const rest: DeadLetterRest = {
    user,
    detail: textOf(headers[detailHeader], mostDetailCharacters),
    bytes: record.value?.length ?? 0,
    ...(envelope === undefined
      ? {}
      : {
          messageId: envelope.messageId,
          type: envelope.type,
          source: envelope.sourceId,
          attempts: envelope.attempts,
          callTime: timeOf(envelope.appendTimeMs),
        }),
    ...(envelope?.redrivenMs === undefined ? {} : { redrivenAt: timeOf(envelope.redrivenMs) }),
    ...(headers[answerHeader] === undefined
      ? {}
      : { answer: beginningOf(headers[answerHeader], mostAnswerBytes) }),
    ...(last?.url === undefined ? {} : { url: last.url }),
  };
  const id = envelope?.destinationId ?? destination;
  const whose = words.idOf(identityText({ id, uid: envelope?.uid }));
  return rowOf(record, whose, words, rest);
}

/**
 * A record of `ingest.rejected`.
 * @param sourceOf the id of the source with this write key, now
 */
export function rowOfRejected(
  record: IncomingRecord,
  words: Words,
  sourceOf: (writeKey: string) => string | undefined,
): LetterRow {
  const { headers, key, value, topic, partition, offset, timestampMs } = record;
  const origin = decodeOrigin(headers[originHeader]);
  const { appendTimeMs, ...place } = origin ?? {
    topic,
    partition,
    offset,
    appendTimeMs: timestampMs,
  };
  const rest: RejectedRest = {
    detail: textOf(headers[detailHeader], mostDetailCharacters),
    ...(key === null ? {} : { key: key.toString().slice(0, mostDetailCharacters) }),
    origin: { ...place, at: timeOf(appendTimeMs) },
    bytes: value?.length ?? 0,
    sample: value === null ? '' : beginningOf(value, mostSampleBytes),
  };
  const inCall = value === null ? undefined : textFieldIn(value, writeKeyField);
  const writeKey = chooseWriteKey(headers[writeKeyHeader], inCall);
  const source = writeKey === undefined ? undefined : sourceOf(writeKey);
  return rowOf(record, words.idOf(source ?? ''), words, rest);
}

/** A record of `redrives`; undefined: it is about an event that was kept for a paused destination. */
export function rowOfMark(
  record: IncomingRecord,
  topics: Readonly<Record<keyof typeof letterKinds, string>>,
): SentAgainRow | undefined {
  const mark = markOf(record);
  if (mark === undefined) return undefined;
  const { topic, partition, offset, letterMs, timeMs: sentMs } = mark;
  const table = (['dead_letters', 'rejected'] as const).find((each) => topics[each] === topic);
  const isPossible = Number.isSafeInteger(letterMs) && Number.isSafeInteger(sentMs);
  if (table === undefined || !isPossible) return undefined;
  return { kind: letterKinds[table], partition, offset, letterMs, sentMs };
}

export function deadLetterOf(row: LetterRow, words: Words): DeadLetter {
  const rest = JSON.parse(row.rest) as DeadLetterRest;
  return {
    ...placed(row),
    destination: idIn(words.of(row.whose)),
    reason: words.of(row.reason),
    ...rest,
  };
}

export function rejectedOf(row: LetterRow, words: Words): RejectedCall {
  const source = words.of(row.whose);
  const rest = JSON.parse(row.rest) as RejectedRest;
  const whose = source === '' ? {} : { source };
  return { ...placed(row), reason: words.of(row.reason), ...whose, ...rest };
}

function placed({ partition, offset, atMs }: LetterRow): { place: string; at: string } {
  return { place: `${partition}:${offset}`, at: timeOf(atMs) };
}

function rowOf(record: IncomingRecord, whose: number, words: Words, rest: object): LetterRow {
  const { partition, offset, timestampMs, headers } = record;
  const reason = words.idOf(headers[reasonHeader]?.toString() ?? 'unknown');
  return { partition, offset, atMs: timestampMs, whose, reason, rest: JSON.stringify(rest) };
}

function textOf(header: Buffer | undefined, characters: number): string {
  return (header?.toString() ?? '').slice(0, characters);
}

/** In whole characters; what is no text shows as such. */
function beginningOf(bytes: Buffer, most: number): string {
  return new TextDecoder().decode(bytes.subarray(0, most), { stream: true });
}

function timeOf(timeMs: number): string {
  const date = new Date(timeMs);
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString();
}
