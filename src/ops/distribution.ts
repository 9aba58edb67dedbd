import { Histogram, type MetricObjectWithValues, type MetricValueWithName } from 'prom-client';
import type { MetricsRegistry } from './metrics.ts';

/**
 * The spread of values: a count for each bucket. For each value, prom-client's own histogram checks its labels and
 * looks a bucket up by its name, which costs the hot path several times as much.
 */
export class Distribution {
  /** Upper bounds, ascending. */
  readonly bounds: readonly number[];
  sum = 0;
  /** The values of each bucket alone; the last one is above all bounds. */
  readonly #counts: number[];

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  add(value: number): void {
    let bucket = 0;
    while (value > (this.bounds[bucket] ?? Infinity)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.sum += value;
  }

  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** Each bound with the number of values up to it; the last one is infinity. */
  *upTo(): Generator<readonly [bound: number, values: number], void, undefined> {
    let values = 0;
    for (const [bucket, count] of this.#counts.entries()) {
      values += count;
      yield [this.bounds[bucket] ?? Infinity, values];
    }
  }
}

interface Description {
  readonly name: string;
  readonly help: string;
}

/** A histogram whose values are read when it is scraped. */
export function exposeDistribution(
  registry: MetricsRegistry,
  { name, help }: Description,
  distribution: Distribution,
): void {
  const buckets = [...distribution.bounds];
  new ReadHistogram({ name, help, buckets, registers: [registry] }, () =>
    seriesOf(name, {}, distribution),
  );
}

/**
 * The same with a label.
 * @param distributions by the value of the label, all with the same bounds
 */
export function exposeDistributions(
  registry: MetricsRegistry,
  { name, help, label }: Description & { readonly label: string },
  distributions: Readonly<Record<string, Distribution>>,
): void {
  const all = Object.entries(distributions);
  const buckets = [...(all[0]?.[1].bounds ?? [])];
  const labelNames = [label];
  new ReadHistogram({ name, help, labelNames, buckets, registers: [registry] }, () =>
    all.flatMap(([value, distribution]) => seriesOf(name, { [label]: value }, distribution)),
  );
}

type Series = MetricValueWithName<string>;

class ReadHistogram extends Histogram {
  readonly #configuration: { readonly name: string; readonly help: string };
  readonly #read: () => Series[];

  constructor(configuration: ConstructorParameters<typeof Histogram>[0], read: () => Series[]) {
    super(configuration);
    this.#configuration = configuration;
    this.#read = read;
  }

  override get(): Promise<MetricObjectWithValues<Series>> {
    const { name, help } = this.#configuration;
    const [type, aggregator] = ['histogram', 'sum'] as const;
    // prom-client gives the name of a type by its number in an enum that exists in its types alone.
    return Promise.resolve({ name, help, type, aggregator, values: this.#read() } as never);
  }

  /** prom-client calls it, instead of `get`, for the text that Prometheus reads. */
  getForPromString(): Promise<MetricObjectWithValues<Series>> {
    return this.get();
  }
}

function seriesOf(
  name: string,
  labels: Readonly<Record<string, string>>,
  distribution: Distribution,
): Series[] {
  const buckets = Array.from(distribution.upTo(), ([bound, values]) => ({
    metricName: `${name}_bucket`,
    labels: { le: bound === Infinity ? '+Inf' : bound, ...labels },
    value: values,
  }));
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: distribution.sum },
    { metricName: `${name}_count`, labels, value: distribution.count },
  ];
}
