import { eventRecord, filler } from '../delivery-load.ts';

/** Of every destination, and of nobody in the world. */
export const secret = 'bench';
export const writeKey = 'wk_bench';

/** The event with that number, as the router writes it; `sentMs` is read by the receiver. */
export function eventFor(
  topic: string,
  destinationId: string,
  n: number,
): ReturnType<typeof eventRecord> {
  return eventRecord(topic, destinationId, n, { ...placeOf(n), filler: filler() });
}

/** The call with that number. */
export function callFor(topic: string, n: number): { topic: string; key: string; value: string } {
  const userId = `user-${n % 9_973}`;
  return {
    topic,
    key: userId,
    value: JSON.stringify({
      type: 'track',
      messageId: `bench-${n}`,
      writeKey,
      userId,
      event: 'Order Completed',
      properties: { ...placeOf(n), filler: filler() },
    }),
  };
}

function placeOf(n: number): object {
  return { n, sentMs: performance.timeOrigin + performance.now() };
}
