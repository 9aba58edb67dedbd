import { readFile, rename, writeFile } from 'node:fs/promises';

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
