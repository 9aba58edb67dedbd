import type { DemoProgress } from '../../dev/demo-report.ts';
import type { MetricsRegistry } from '../../ops/metrics.ts';
import type { Context } from '../context.ts';

type Counts = Omit<DemoProgress, 'produced' | 'total'>;

const lookEveryMs = 500;

/** Shows what the metrics say until stopped. */
export function startProgress(
  context: Context,
  metrics: MetricsRegistry,
  describe: (counts: Counts) => string,
): { stop(): void } {
  let before = { delivered: 0, atMs: Date.now() };
  let line = '';
  const look = async (): Promise<void> => {
    const nowMs = Date.now();
    const delivered = await total(metrics, 'postrider_delivered_total');
    const perSecond = ((delivered - before.delivered) * 1_000) / Math.max(1, nowMs - before.atMs);
    before = { delivered, atMs: nowMs };
    line = describe({
      delivered,
      deliveriesPerSecond: Math.round(perSecond),
      retries: await total(metrics, 'postrider_retries_total'),
      deadLetters: await total(metrics, 'postrider_dead_letters_total'),
      breakersOpen: await total(metrics, 'postrider_breakers', 'open'),
    });
  };
  const timer = setInterval(() => void look(), lookEveryMs);
  const status = context.status(() => line);
  return {
    stop: () => {
      clearInterval(timer);
      status.stop();
    },
  };
}

/** A metric's sum over its labels, or over those with the value `only`. */
async function total(metrics: MetricsRegistry, name: string, only?: string): Promise<number> {
  const metric = await metrics.getSingleMetric(name)?.get();
  return (metric?.values ?? [])
    .filter(({ labels }) => only === undefined || Object.values(labels).includes(only))
    .reduce((sum, { value }) => sum + value, 0);
}
