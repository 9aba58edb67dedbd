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
    '1 while everything written to the config topic up to 2 s ago is known here.',
    () => (config.isFresh() ? 1 : 0),
  );
  exposeGauge(
    registry,
    'postrider_config_offset',
    'How far the config topic has been read.',
    () => config.offset,
  );
  exposeGauge(
    registry,
    'postrider_config_not_followed',
    'Resources whose newest version cannot be read here: an older one, or none, is in force.',
    () => config.notFollowed,
  );
}
