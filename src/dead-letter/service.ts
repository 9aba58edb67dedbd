import type { PostriderError } from '../errors.ts';
import type { KafkaClient } from '../kafka/client.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { SteadyClock } from '../ops/clock.ts';
import type { Logger } from '../ops/log.ts';
import type { WithConfig } from '../resources/config/config-topic.ts';
import type { Pause } from '../resources/pauses/pause.ts';
import type { Topology } from '../topology.ts';
import type { LetterCounts } from './present.ts';
import type { LeftOut } from './sift.ts';

/** The means of the services of this folder: finding letters, sending them again, pausing and resuming. */
export interface ServiceAccess {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly clock: SteadyClock;
  readonly log: Logger;
  readonly withConfig: WithConfig;
  readonly withProducer: WithProducer;
}

/**
 * Lends a producer that is closed afterwards.
 * @param use gets a signal to begin no more
 * @param givenUp when it settles, Kafka is not waited for any longer
 */
export type WithProducer = <T>(
  use: (producer: Producer, ending: AbortSignal) => Promise<T>,
  givenUp?: Promise<T>,
) => Promise<T>;

/** The caller of a service, which may end it early and is told how far it is. */
export interface Caller {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

/** A message of a service to its caller while it works. */
export type Progress =
  /** The records to read are known. */
  | {
      readonly kind: 'found';
      readonly records: number;
      /** The number of partitions that are read. Undefined: the one that the user's events are in, or named places. */
      readonly partitions: number | undefined;
    }
  /** One more record was read. */
  | { readonly kind: 'read' }
  /** One more letter is safe in Kafka, or would be sent. */
  | { readonly kind: 'sent' }
  /** Kafka can never accept the letter, or its mark. */
  | {
      readonly kind: 'refused' | 'unmarked';
      readonly place: string;
      readonly error: PostriderError;
    }
  /** New events begin or cease to have priority. */
  | { readonly kind: 'gives-way'; readonly isWaiting: boolean }
  /** Another process sends events of these destinations, and is waited for. */
  | { readonly kind: 'queues' }
  /** A destination is no longer paused. */
  | { readonly kind: 'resumed'; readonly destination: string; readonly before: Pause | undefined }
  /** Everything that could be sent is sent, or counted. */
  | { readonly kind: 'all-sent'; readonly sent: Sent }
  /** It cannot be seen what becomes of the events that were sent. */
  | { readonly kind: 'outcome-unknown'; readonly error: PostriderError };

/** The letters that were sent again, or would be. */
export interface Sent {
  /** Identifies the run in the topic `redrives`; undefined: nothing was sent, only counted. */
  readonly id: string | undefined;
  readonly counts: Pick<LetterCounts<never>, 'total' | 'present' | 'rows'>;
  readonly leftOut: Pick<LeftOut, 'isEmpty' | 'sentences'>;
}

/** A caller's ways around what keeps letters from being sent: options of a command, or choices in a dialog. */
export interface Remedies {
  /** Sends letters again that were sent again before. */
  readonly again?: string;
  /** Sends letters to a destination which cannot take them now. */
  readonly unreachable: string;
  /** Sends the letters of an earlier destination of the same id. */
  readonly earlier?: string;
  /** Sends what an interrupted run has left. */
  readonly goOn: string;
}
