import type { SteadyClock } from '../../ops/clock.ts';
import type { AwaitingConfig } from '../awaiting-config.ts';
import type { Disposal } from '../disposal.ts';
import type { DeliveryEvents } from '../events.ts';
import type { Fencing } from '../fencing.ts';
import type { Reachability } from '../reachability.ts';
import type { RetryPolicy } from '../retry-policy.ts';
import type { Sender } from '../sender.ts';
import type { Tokens } from '../token/tokens.ts';
import type { SlotPool } from './slot-pool.ts';
import type { WorkShares } from './work-shares.ts';

/** The parts of the engine that all lanes share. */
export interface LaneContext {
  readonly clock: SteadyClock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly policy: RetryPolicy;
  readonly sender: Sender;
  readonly disposal: Disposal;
  readonly events: DeliveryEvents;
  readonly pool: SlotPool;
  readonly fencing: Fencing;
  readonly reachability: Reachability;
  readonly tokens: Tokens;
  readonly shares: WorkShares;
  /** Gets jobs of a lane that sends nothing for now. */
  readonly awaiting: Pick<AwaitingConfig, 'putBack'>;
  readonly maxInFlightPerDestination: number;
}
