import { exposeGauge, type MetricsRegistry } from '../../ops/metrics.ts';
import type { Connected } from './connected.ts';
import type { Destination, NoticeHook, ResourceKind, Source } from '../resource.ts';

/**
 * A role's view of the `config` topic: the resources as they are now. All lookups are synchronous and in
 * memory. Objects are frozen, and an object is replaced exactly when its resource changes, so a stage may
 * keep derived data in a WeakMap.
 */
export interface Config {
  /** The follower's position, which the router writes into envelopes. */
  readonly offset: number;
  sourceByWriteKey(writeKey: string): Source | undefined;
  source(id: string): Source | undefined;
  destination(id: string): Destination | undefined;
  /** Enabled or not; without notice hooks. */
  destinations(): Iterable<Destination>;
  noticeHooks(): Iterable<NoticeHook>;
  /**
   * The enabled destinations connected to a source. Includes those whose secrets cannot be read here: calls are
   * routed to them, and wait there.
   */
  destinationsOf(sourceId: string): Connected;
  /**
   * True for a destination that exists but whose record this process could not read in any version, so
   * `destination` does not return it. Its events must wait and must not be treated as those of a deleted
   * destination.
   */
  isUnreadable(destinationId: string): boolean;
  /** Also of one that is unreadable. */
  uidOf(destinationId: string): string | undefined;
  /**
   * The number of resources whose newest version is not in force, because it cannot be read here.
   */
  readonly notFollowed: number;
  /** Called after a change has taken effect; not for the snapshot at the start. */
  onChange(listener: (change: ConfigChange) => void): void;
  /** True while everything written up to 2 s ago has been read here. */
  isFresh(): boolean;
  /** Resolves when everything written before this call has been read here. */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

export interface ConfigChange {
  readonly kind: ResourceKind;
  readonly id: string;
}

/** Gauges that ask how well the `config` topic is followed, when they are scraped. */
export function exposeConfig(
  registry: MetricsRegistry,
  config: Pick<Config, 'offset' | 'notFollowed' | 'isFresh'>,
): void {
  exposeGauge(
    registry,
    'postrider_config_fresh',
    '1 while this process knows everything in the topic config that is older than 2 s.',
    () => (config.isFresh() ? 1 : 0),
  );
  exposeGauge(
    registry,
    'postrider_config_offset',
    'Offset up to which this process has read the topic config.',
    () => config.offset,
  );
  exposeGauge(
    registry,
    'postrider_config_not_followed',
    'Resources whose newest version this process cannot read. An older version is in force, or none.',
    () => config.notFollowed,
  );
}
