import { z } from 'zod';
import type { OutgoingRecord } from '../../kafka/record.ts';

/** Why nothing is sent to a destination for now: the record of topic `pauses` whose key is its id. */
export interface Pause {
  /** ISO 8601, UTC. */
  readonly since: string;
  /** Paused by `disableAfter`, because it had failed since then; without it, by an operator. */
  readonly failingSince?: string;
}

const schema = z.object({
  since: z.iso.datetime(),
  failingSince: z.exactOptional(z.iso.datetime()),
});

/** Undefined ends the pause. */
export function pauseRecord(
  topic: string,
  destinationId: string,
  pause: Pause | undefined,
): OutgoingRecord {
  return { topic, key: destinationId, value: pause === undefined ? null : JSON.stringify(pause) };
}

/**
 * Undefined: the destination is not paused. A record that cannot be read pauses it too: what is kept can be
 * sent later, what is sent cannot be taken back.
 */
export function decodePause(value: Buffer | null): Pause | undefined {
  if (value === null) return undefined;
  try {
    return schema.parse(JSON.parse(value.toString()));
  } catch {
    return { since: new Date(0).toISOString() };
  }
}
