import { envelopeHeader } from '../event/envelope.ts';
import type { DeadLetter } from './dead-letter.ts';
import type { LetterView } from './present.ts';
import { bytesText, jsonText, printable, timeText } from './printable.ts';

/** No headers but the envelope, which holds no secrets; the record has no others of ours. */
export const deadLetterView: LetterView<DeadLetter> = {
  columns: {
    DESTINATION: ({ destinationId }) => destinationId,
    USER: ({ user }) => user,
    ATTEMPTS: ({ envelope }) => String(envelope?.attempts ?? ''),
    REDRIVEN: (letter) => redrivenTime(letter) ?? '',
  },
  counted: { REASON: ({ reason }) => reason, DESTINATION: ({ destinationId }) => destinationId },
  summary: (letter) => {
    const { envelope, destinationId, user } = letter;
    return {
      ...{ destination: destinationId, user, redriven: redrivenTime(letter) ?? null },
      messageId: envelope?.messageId ?? null,
      type: envelope?.type ?? null,
      source: envelope?.sourceId ?? null,
      attempts: envelope?.attempts ?? null,
      callTime: envelope === undefined ? null : timeText(envelope.appendTimeMs),
      bytes: letter.record.value?.length ?? 0,
    };
  },
  facts: (letter) => [
    ['destination', printable(letter.destinationId)],
    ['user', printable(letter.user)],
    ...envelopeFacts(letter),
  ],
  body: ({ record }) => jsonText(record.value),
};

/** When it was sent again before it became this letter. */
function redrivenTime({ envelope }: DeadLetter): string | undefined {
  return envelope?.redrivenMs === undefined ? undefined : timeText(envelope.redrivenMs);
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
