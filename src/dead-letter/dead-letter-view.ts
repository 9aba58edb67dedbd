import { envelopeHeader } from '../event/envelope.ts';
import { answerOf, type DeadLetter } from './dead-letter.ts';
import type { LetterView } from './present.ts';
import { printable } from '../printable.ts';
import { beginningText, bytesText, jsonOrText, jsonText, timeText } from './texts.ts';

/** No headers but the envelope, which holds no secrets; the record has no others of ours. */
export const deadLetterView: LetterView<DeadLetter> = {
  columns: {
    DESTINATION: ({ destinationId }) => destinationId,
    MESSAGE: ({ envelope }) => envelope?.messageId ?? '',
  },
  wideColumns: {
    USER: ({ user }) => user,
    ATTEMPTS: ({ envelope }) => String(envelope?.attempts ?? ''),
    REDRIVEN: (letter) => redrivenTime(letter) ?? '',
    DETAIL: ({ detail }) => detail,
  },
  counted: { REASON: ({ reason }) => reason, DESTINATION: ({ destinationId }) => destinationId },
  summary: (letter) => {
    const { envelope, destinationId, user } = letter;
    return {
      destination: destinationId,
      user,
      redriven: redrivenTime(letter) ?? null,
      messageId: envelope?.messageId ?? null,
      type: envelope?.type ?? null,
      source: envelope?.sourceId ?? null,
      attempts: envelope?.attempts ?? null,
      callTime: envelope === undefined ? null : timeText(envelope.appendTimeMs),
      bytes: letter.record.value?.length ?? 0,
    };
  },
  facts: (letter) => [
    ['answer', printable(answerText(letter) ?? '-')],
    ...lastAnswerFacts(letter),
    ['destination', printable(letter.destinationId)],
    ['user', printable(letter.user)],
    ...envelopeFacts(letter),
  ],
  body: ({ record }) => jsonText(record.value),
  whole: ({ lastAnswer, record }) => ({
    answer: answerText({ record }),
    lastAttempt:
      lastAnswer === undefined
        ? null
        : {
            time: timeText(lastAnswer.atMs),
            url: lastAnswer.url ?? null,
            detail: lastAnswer.detail,
            retryAfterMs: lastAnswer.retryAfterMs ?? null,
          },
    body: jsonOrText(record.value),
  }),
};

function answerText(letter: Pick<DeadLetter, 'record'>): string | null {
  const answer = answerOf(letter);
  return answer && beginningText(answer);
}

/** The time at which the event was sent again before it became this letter. */
function redrivenTime({ envelope }: DeadLetter): string | undefined {
  return envelope?.redrivenMs === undefined ? undefined : timeText(envelope.redrivenMs);
}

function lastAnswerFacts({ lastAnswer }: DeadLetter): readonly (readonly [string, string])[] {
  if (lastAnswer === undefined) return [];
  const { atMs, url, detail, retryAfterMs } = lastAnswer;
  return [
    ['last attempt', `${timeText(atMs)}, ${printable(detail)}`],
    ['url', url === undefined ? '-' : printable(url)],
    ['retry-after', retryAfterMs === undefined ? '-' : `${retryAfterMs / 1_000} s`],
  ];
}

function envelopeFacts(letter: DeadLetter): readonly (readonly [string, string])[] {
  const { envelope, record } = letter;
  if (envelope === undefined)
    return [['envelope', bytesText(record.headers[envelopeHeader] ?? null)]];
  const { deadlineMs } = envelope;
  return [
    ['message id', printable(envelope.messageId)],
    ['type', envelope.type],
    ['source', printable(envelope.sourceId)],
    ['attempts', String(envelope.attempts)],
    ['call time', timeText(envelope.appendTimeMs)],
    ['redriven', redrivenTime(letter) ?? '-'],
    ['retried until', deadlineMs === undefined ? '-' : timeText(deadlineMs)],
    ['config offset', String(envelope.configOffset)],
  ];
}
