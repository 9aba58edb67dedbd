import { printable } from '../printable.ts';
import type { LetterView } from './present.ts';
import { notMendable, readRejected, sentAgain, type RejectedCall } from './rejected.ts';
import type { LetterKind } from './search.ts';
import {
  alone,
  countLetters,
  sendLetters,
  type SendResult,
  type SendTask,
} from './send-letters.ts';
import type { Caller, Remedies, Sent, ServiceAccess } from './service.ts';
import { bytesText, textOrBase64, timeText } from './texts.ts';

/** Write keys are shown. They are not secrets, and they identify the missing source. */
export const rejectedView: LetterView<RejectedCall> = {
  columns: { KEY: (call) => keyText(call) ?? '', DETAIL: ({ detail }) => detail },
  wideColumns: { ORIGIN: ({ origin }) => `${origin.topic} ${origin.partition}:${origin.offset}` },
  counted: { REASON: ({ reason }) => reason },
  summary: (call) => {
    const { topic, partition, offset, appendTimeMs } = call.origin;
    return {
      key: keyText(call),
      origin: { topic, partition, offset, time: timeText(appendTimeMs) },
    };
  },
  facts: ({ record, origin }) => [
    ['origin', `${origin.topic} ${origin.partition}:${origin.offset}`],
    ['origin time', timeText(origin.appendTimeMs)],
    ['key', bytesText(record.key)],
    ...Object.entries(record.headers).map(
      ([name, value]) => [`header ${printable(name)}`, bytesText(value ?? null)] as const,
    ),
  ],
  body: ({ record }) => bytesText(record.value),
  whole: ({ record: { headers, value } }) => ({
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, bytes]) => [name, textOrBase64(bytes ?? null)]),
    ),
    body: textOrBase64(value),
  }),
};

function keyText({ record: { key } }: RejectedCall): string | null {
  return key === null ? null : key.toString();
}

export const rejectedCalls: LetterKind<RejectedCall> = {
  noun: 'call',
  topicOf: ({ topics }) => topics.ingestRejected,
  read: readRejected,
  view: rejectedView,
};

/** An order to send rejected calls again. */
export interface RejectedRedrive extends Pick<
  SendTask<RejectedCall>,
  'selection' | 'againMs' | 'rate'
> {
  /** Also calls that would be rejected again, whatever is changed in the configuration. */
  readonly alsoInvalid: boolean;
  readonly remedies: Pick<Remedies, 'again' | 'goOn'> & {
    /** Sends calls that are invalid nevertheless. */
    readonly invalid: string;
  };
}

/** @throws PostriderError of `countLetters` */
export async function countRejected(
  access: ServiceAccess,
  chosen: RejectedRedrive,
  caller: Caller,
): Promise<Sent> {
  return countLetters(access, rejectedCalls, taskOf(access, chosen), caller);
}

/**
 * Sends rejected calls back to the topic where they first arrived.
 * @throws PostriderError `busy`; of `sendLetters`
 */
export async function redriveRejected(
  access: ServiceAccess,
  chosen: RejectedRedrive,
  caller: Caller,
): Promise<SendResult> {
  return alone(access, rejectedCalls, undefined, caller, (signal) =>
    sendLetters(access, rejectedCalls, taskOf(access, chosen), { ...caller, signal }),
  );
}

function taskOf(
  { topology }: ServiceAccess,
  { selection, alsoInvalid, againMs, rate, remedies }: RejectedRedrive,
): SendTask<RejectedCall> {
  return {
    selection,
    judges: alsoInvalid ? [] : [(call) => notMendable(call, remedies.invalid)],
    sentAgain: (call) => sentAgain(call, topology),
    againMs,
    rate,
    remedies,
  };
}
