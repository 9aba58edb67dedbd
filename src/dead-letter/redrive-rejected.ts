import { rejectedView } from './rejected-view.ts';
import { notMendable, readRejected, sentAgain, type RejectedCall } from './rejected.ts';
import type { LetterKind, Selection } from './search.ts';
import {
  alone,
  countLetters,
  sendLetters,
  type SendResult,
  type SendTask,
} from './send-letters.ts';
import type { Caller, Remedies, Sent, ServiceAccess } from './service.ts';

export const rejectedCalls: LetterKind<RejectedCall> = {
  noun: 'call',
  topicOf: ({ topics }) => topics.ingestRejected,
  read: readRejected,
  view: rejectedView,
};

/** Which rejected calls are sent again, and how. */
export interface RejectedRedrive {
  readonly selection: Selection<RejectedCall>;
  /** Also calls that would be rejected again, whatever is changed in the configuration. */
  readonly alsoInvalid: boolean;
  /** Also calls that were last sent again before this time; epoch milliseconds. */
  readonly againMs?: number | undefined;
  /** Calls a second. */
  readonly rate: number;
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
