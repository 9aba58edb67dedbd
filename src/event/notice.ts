import type { LastAnswer } from './destination-status.ts';
import type { WithUid } from './uid.ts';

/**
 * A record of the compacted topic `notices`, whose key is the destination's id: what somebody should know of
 * it. Times are ISO 8601, in UTC. Its JSON Schema is `src/schemas/notices.json`.
 */
export interface Notice extends WithUid {
  /** The same in each copy, also when it is written twice. */
  readonly id: string;
  readonly at: string;
  /**
   * failing: events have not got through for `after`; disabled: it was paused for that, as `disableAfter`
   * says, or because its endpoint answered 410; well: it takes events again.
   */
  readonly notice: 'failing' | 'disabled' | 'well';
  readonly destination: string;
  readonly name?: string;
  /** Since when it fails; of `well`, since when it had. */
  readonly since: string;
  /** Since when nothing has been delivered to it, as far as is known. */
  readonly undeliveredSince: string;
  /** One of {@link noticeStages}, for `failing`. */
  readonly after?: string;
  /** The URL in question, without credentials and query. */
  readonly url?: string;
  readonly lastAnswer?: LastAnswer;
  /** Events that wait for it, and when the first of them is given up. */
  readonly waiting?: number;
  readonly deadline?: string;
  /** The number of destinations that a hook's notice is about, and the first hundred of them, `destination` included. */
  readonly count?: number;
  readonly destinations?: readonly string[];
  /** All of that in a sentence or two. */
  readonly text: string;
}

/** The times for which a destination has failed when it is told, and told again. */
export const noticeStages = ['15m', '4h', '1d', '3d'] as const;

/** Undefined for what is none, or of a kind that this version does not know. */
export function decodeNotice(value: Buffer | null): Notice | undefined {
  if (value === null) return undefined;
  try {
    const json = JSON.parse(value.toString()) as Notice | null;
    const isKnown = ['failing', 'disabled', 'well'].includes(json?.notice ?? '');
    return isKnown && !Number.isNaN(Date.parse(json?.since ?? ''))
      ? (json ?? undefined)
      : undefined;
  } catch {
    return undefined;
  }
}
