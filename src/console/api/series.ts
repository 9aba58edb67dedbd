import type { UrlStatus } from '../../event/destination-status.ts';
import { delivered, failed, latencyAt, latencyClasses, noLatency } from '../index/attempt-rows.ts';
import { firstStep, resolutions, type Counted } from '../index/series-query.ts';
import type { Series, SeriesPoint, UrlSeries } from './answers/destinations.ts';
import type { Range } from './choices.ts';

/** Lines and bands of a destination, made of what was counted. */
export function seriesOf(
  counted: readonly Counted[],
  urls: readonly UrlStatus[],
  range: Range,
  nowMs: number,
): Series {
  const { stepMs, steps } = resolutions[range];
  const first = firstStep(range, nowMs);
  const at = (step: number): string => new Date(step * stepMs).toISOString();
  const bySteps = Map.groupBy(counted, ({ step }) => step);
  const points = Array.from({ length: steps }, (_, index) =>
    pointOf(at(first + index), bySteps.get(first + index) ?? []),
  );
  const byUrl = Map.groupBy(counted, ({ url }) => url);
  const names = new Set([...urls.map(({ url }) => url), ...byUrl.keys()]);
  return {
    from: at(first),
    stepS: stepMs / 1_000,
    points,
    urls: [...names].sort().map((url): UrlSeries => {
      const breaker = urls.find((each) => each.url === url)?.breaker;
      const bands = bandsOf(byUrl.get(url) ?? [], at);
      return { url, bands, ...(breaker === undefined ? {} : { breaker }) };
    }),
  };
}

function pointOf(at: string, counted: readonly Counted[]): SeriesPoint {
  const latencies = new Array<number>(latencyClasses).fill(0);
  for (const { latencyClass, count } of counted)
    if (latencyClass !== noLatency)
      latencies[latencyClass] = (latencies[latencyClass] ?? 0) + count;
  const of = (wanted: (what: number) => boolean): number => sum(counted, wanted);
  return {
    at,
    delivered: of((what) => what === delivered),
    failed: of((what) => what === failed),
    refused: of((what) => what > failed),
    p50Ms: latencyAt(latencies, 0.5),
    p99Ms: latencyAt(latencies, 0.99),
  };
}

/** Neighbours are one where both were well, both failed, or both did either. */
function bandsOf(counted: readonly Counted[], at: (step: number) => string): UrlSeries['bands'] {
  const bands: { first: number; last: number; delivered: number; failed: number }[] = [];
  const steps = [...Map.groupBy(counted, ({ step }) => step)].sort(([a], [b]) => a - b);
  for (const [step, each] of steps) {
    const well = sum(each, (what) => what === delivered);
    const ill = sum(each, (what) => what !== delivered);
    const before = bands.at(-1);
    const isLike =
      before?.last === step - 1 &&
      before.delivered > 0 === well > 0 &&
      before.failed > 0 === ill > 0;
    if (isLike) {
      before.last = step;
      before.delivered += well;
      before.failed += ill;
    } else bands.push({ first: step, last: step, delivered: well, failed: ill });
  }
  return bands.map(({ first, last, ...counts }) => ({
    from: at(first),
    to: at(last + 1),
    ...counts,
  }));
}

function sum(counted: readonly Counted[], wanted: (what: number) => boolean): number {
  return counted.reduce((total, { what, count }) => (wanted(what) ? total + count : total), 0);
}
