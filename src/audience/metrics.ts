import { readFile, rename, writeFile } from 'node:fs/promises';
import { Counter, type Registry } from 'prom-client';
import { AudienceGauges } from '../resources/audiences/gauges.ts';

/** Metrics of a sync, for a scrape while it runs and for a textfile collector when it has ended. */
export class SyncMetrics extends AudienceGauges {
  readonly #registry: Registry;
  readonly #sent: Counter;

  constructor(registry: Registry) {
    super(registry);
    this.#registry = registry;
    this.#sent = new Counter({
      name: 'postrider_audience_sync_sent_total',
      help: 'Changes that this process sent and committed.',
      labelNames: ['audience'],
      registers: [registry],
    });
  }

  sent(audience: string, changes: number): void {
    this.#sent.inc({ audience }, changes);
  }

  /** In Prometheus' text format, without the process metrics, which the collector provides itself. */
  async text(): Promise<string> {
    const names = this.#registry
      .getMetricsAsArray()
      .map(({ name }) => name)
      .filter((name) => name.startsWith('postrider_audience_sync_'));
    const texts = await Promise.all(
      names.map((name) => this.#registry.getSingleMetricAsString(name)),
    );
    return `${texts.join('\n')}\n`;
  }
}

/**
 * Writes metrics for a textfile collector in one step. Other series in the file stay: those of audiences that
 * other runs sync, and the time of the last success of a failed one. Those of audiences that no longer exist are
 * removed, or alerts about them would never end.
 */
export async function writeTextfile(
  file: string,
  metrics: string,
  isKnown: (audience: string) => boolean,
): Promise<void> {
  const before = await readFile(file, 'utf8').catch(() => '');
  // A collector reads every file that ends in .prom, so the temporary name ends differently.
  const written = `${file}.${process.pid}`;
  await writeFile(written, mergeMetrics(before, metrics, isKnown));
  await rename(written, file);
}

/**
 * `fresh`, plus the series of its metrics that only `before` has, of known audiences. Both are in Prometheus'
 * text format.
 */
export function mergeMetrics(
  before: string,
  fresh: string,
  isKnown: (audience: string) => boolean,
): string {
  const kept = samplesByMetric(before);
  const known = new Set([...samplesByMetric(fresh).values()].flat().map(seriesOf));
  const lines: string[] = [];
  for (const line of fresh.split('\n')) {
    if (line === '') continue;
    lines.push(line);
    const [, metric] = /^# TYPE (\S+)/.exec(line) ?? [];
    if (metric === undefined) continue;
    lines.push(
      ...(kept.get(metric) ?? []).filter(
        (sample) => !known.has(seriesOf(sample)) && isKnown(audienceOf(sample)),
      ),
    );
  }
  return `${lines.join('\n')}\n`;
}

function samplesByMetric(text: string): Map<string, string[]> {
  const samples = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [, metric] = /^([a-z_]+)\{.*\} \S+$/.exec(line) ?? [];
    if (metric === undefined) continue;
    const found = samples.get(metric);
    if (found === undefined) samples.set(metric, [line]);
    else found.push(line);
  }
  return samples;
}

/** Ids need no escapes. */
function audienceOf(sample: string): string {
  return /[{,]audience="([^"]*)"/.exec(sample)?.[1] ?? '';
}

/** A sample without its value. */
function seriesOf(sample: string): string {
  return sample.slice(0, sample.lastIndexOf(' '));
}
