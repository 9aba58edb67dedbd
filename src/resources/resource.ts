import type { CallType } from '../event/call.ts';

/** Where calls come from: whoever holds one of its write keys. */
export interface Source {
  readonly kind: 'Source';
  readonly id: string;
  readonly name: string;
  /** Unique over all sources. */
  readonly writeKeys: readonly string[];
}

/** One of a destination's endpoints. */
export interface Webhook {
  /** As given: http or https, without credentials and fragment. */
  readonly url: string;
  /** Names are tokens that the pipeline does not set itself; values can be written as latin-1. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A configured webhook destination with every default filled in. */
export interface Destination {
  readonly kind: 'Destination';
  readonly id: string;
  readonly name: string;
  readonly sources: readonly string[];
  readonly enabled: boolean;
  /** Never empty: an empty one counts as none. */
  readonly sharedSecret?: string;
  /** 1 to 5. */
  readonly webhooks: readonly Webhook[];
  /** The call types to deliver; all without it. `delete` is always delivered. */
  readonly events?: readonly CallType[];
  /** The names of track calls to deliver; all without it. Other call types are not affected. */
  readonly eventNames?: readonly string[];
  readonly payload: 'standard' | 'full';
  /** A header that carries the message id. Differs from every configured header. */
  readonly idempotencyHeader?: string;
  /** Events per second over the whole deployment; may be a fraction (`30/m` is 0.5). */
  readonly rateLimit?: number;
  /** Per worker. */
  readonly maxInFlight?: number;
  readonly topic: 'shared' | 'dedicated';
}

export type Resource = Source | Destination;
export type ResourceKind = Resource['kind'];

/** In the order in which they are written: what others refer to comes first. */
export const resourceKinds: readonly ResourceKind[] = ['Source', 'Destination'];
