import { exposeGauge, type MetricsRegistry } from '../../ops/metrics.ts';
import type { Config } from './config.ts';

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
