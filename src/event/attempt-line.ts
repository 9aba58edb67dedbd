import type { EventType } from './call.ts';
import type { WithUid } from './uid.ts';

/** The choices of lines to keep. `failures`: nothing of events that were delivered at the first attempt. */
export const keptAttempts = ['all', 'failures', 'off'] as const;
export type KeptAttempts = (typeof keptAttempts)[number];

/** The fields of a destination by which an answer can be judged, in the place of the default. */
export type AnswerRule = 'retry.on' | 'retry.giveUpOn';

/**
 * A line of the topic `attempts`: what has happened to one event on its way to one destination. A record
 * holds many lines; fields without a value are left out. Times are ISO 8601, in UTC. Its JSON Schema is
 * `src/schemas/attempts.json`.
 */
export type AttemptLine =
  | AttemptEnded
  | PutOffLine
  | BundlePutOff
  | GivenUp
  /** Its destination is paused: it waits for it to be resumed. */
  | (OfEvent & {
      readonly kind: 'kept';
      /** Made so far. */
      readonly attempts: number;
    })
  | (OfEvent & {
      readonly kind: 'dropped';
      /** The name in the deletion. */
      readonly by: string;
    });

interface OfEvent extends WithUid {
  readonly at: string;
  readonly destination: string;
  readonly source: string;
  readonly messageId: string;
  readonly user: string;
  readonly type: EventType;
  /** See `eventNameOf`. */
  readonly eventName?: string;
  /** The time at which an operator last sent the event again. */
  readonly redrivenAt?: string;
}

/** One request to one URL has ended. */
export interface AttemptEnded extends OfEvent {
  readonly kind: 'attempt';
  /** From 1 on. */
  readonly attempt: number;
  /** Without credentials and query. */
  readonly url: string;
  /** `refused`: for good. */
  readonly outcome: 'delivered' | 'failed' | 'refused';
  readonly status?: number;
  readonly tookMs: number;
  /** The request carried many events: its id, and this event's place among them, from 1 on. */
  readonly batch?: { readonly id: string; readonly place: number; readonly events: number };
  /** Why it was no delivery, for metrics. */
  readonly cause?: string;
  /** The same for a person; of a delivery, what was wrong with the answer. */
  readonly detail?: string;
  /** The beginning of the body of an answer that was no delivery: at most `DELIVERY_ANSWER_BYTES`. */
  readonly answer?: string;
  /** The body went on. */
  readonly isAnswerCut?: true;
  /** Headers of that answer that help people, by lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly retryAfterMs?: number;
  /** The field of the destination that decided; absent: the answer had its default meaning. */
  readonly rule?: AnswerRule;
}

/** It waits in a retry topic: `retry` after an attempt that failed, `deferred` without one. */
export interface PutOffLine extends OfEvent {
  readonly kind: 'retry' | 'deferred';
  /** Made so far. */
  readonly attempts: number;
  /** The cause of a deferral. */
  readonly cause?: string;
  /**
   * With strict order: it `stays` in its destination's own topic, and later events of its user wait behind it; or it
   * has `left` that line.
   */
  readonly line?: 'stays' | 'left';
  /** Not tried before. Absent where it waits in its destination's own topic. */
  readonly until?: string;
  /** Given up then. Absent until the endpoint has failed it once. */
  readonly deadline?: string;
}

/** Events that wait packed together were put off again, without a look at each. */
export interface BundlePutOff extends WithUid {
  readonly kind: 'bundle-deferred';
  readonly at: string;
  readonly destination: string;
  readonly events: number;
  readonly cause: string;
  readonly until: string;
}

/** It is in the dead letters. */
export interface GivenUp extends OfEvent {
  readonly kind: 'dead-letter';
  readonly attempts: number;
  readonly reason: string;
  readonly detail: string;
}

/** Yields the lines of a record's value that can be read: another version may have written other lines. */
export function* decodeAttemptLines(value: Buffer | null): Generator<AttemptLine, void, undefined> {
  for (const text of value?.toString().split('\n') ?? []) {
    if (text === '') continue;
    const json = jsonOf(text);
    if (typeof json === 'object' && json !== null && !Array.isArray(json))
      yield json as AttemptLine;
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
