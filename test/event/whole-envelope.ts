import type { Envelope } from '../../src/event/envelope.ts';

/** As it is decoded: with every field, also those that say nothing. */
export function wholeEnvelope(envelope: Envelope): Envelope {
  return {
    uid: undefined,
    eventName: undefined,
    previousId: undefined,
    urlValues: undefined,
    isSync: undefined,
    redrivenMs: undefined,
    deadlineMs: undefined,
    dueMs: undefined,
    lastAnswer: undefined,
    ...envelope,
  };
}
