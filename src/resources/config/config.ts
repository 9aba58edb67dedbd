import type { Destination, NoticeHook, ResourceKind, Source } from '../resource.ts';

/**
 * What a role sees of the `config` topic: the resources as they are now. All lookups are synchronous
 * and in memory. Objects are frozen, and one is replaced exactly when its resource changes, so a stage
 * may keep what it derived from one in a WeakMap.
 */
export interface Config {
  /** The follower's position, which the router writes into envelopes. */
  readonly offset: number;
  sourceByWriteKey(writeKey: string): Source | undefined;
  source(id: string): Source | undefined;
  destination(id: string): Destination | undefined;
  /** Enabled or not; without those that notice hooks are. */
  destinations(): Iterable<Destination>;
  noticeHooks(): Iterable<NoticeHook>;
  /**
   * The enabled destinations connected to a source, by id, so that routing again gives the same order.
   * Also those whose secrets cannot be read here: calls are routed to them, and wait there.
   */
  destinationsOf(sourceId: string): readonly RoutedDestination[];
  /**
   * True for a destination that exists but whose record this process could not read in any version,
   * so that `destination` does not know it: its events must wait, they are not those of a deleted one.
   */
  isUnreadable(destinationId: string): boolean;
  /** How many resources are not in force as last written, because that version cannot be read here. */
  readonly notFollowed: number;
  /** Called after a change has taken effect; not for what the snapshot held at the start. */
  onChange(listener: (change: ConfigChange) => void): void;
  /** True while everything written up to 2 s ago is known here. */
  isFresh(): boolean;
  /** Resolves when everything written before this call is known here. */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

/** What calls are routed by. */
export type RoutedDestination = Omit<Destination, 'sharedSecret' | 'webhooks'>;

export interface ConfigChange {
  readonly kind: ResourceKind;
  readonly id: string;
}
