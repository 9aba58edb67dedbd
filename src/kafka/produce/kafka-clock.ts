import type { SteadyClock } from '../../ops/clock.ts';
import type { Producer } from './producer.ts';

/**
 * Kafka's clock, as its answers to the producer tell it. Whatever is compared with times that Kafka or other
 * processes have said goes by this clock: one that is ahead would make each of them long ago.
 */
export function asKafka(clock: SteadyClock, producer: Pick<Producer, 'clockAheadMs'>): SteadyClock {
  return {
    now: () => clock.now() - producer.clockAheadMs,
    steadyNow: () => clock.steadyNow(),
    after: (delayMs, callback) => clock.after(delayMs, callback),
  };
}
