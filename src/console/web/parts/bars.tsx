import type { JSX } from 'preact';
import type { LastHour } from '../../api/answers/destinations.ts';
import { count, dayText, percent } from '../format.ts';
import { filled, t } from '../texts/texts.ts';

const dayMs = 86_400_000;
const daysHeight = 20;

/** The last days in UTC, the oldest first, as `2026-01-31`. */
export function dayList(days: number): readonly string[] {
  const now = Date.now();
  return Array.from({ length: days }, (_, index) =>
    new Date(now - (days - 1 - index) * dayMs).toISOString().slice(0, 'yyyy-mm-dd'.length),
  );
}

/** The time at which the days begin: the same all day, so that a page does not ask for another list each time. */
export function firstDayOf(days: number): string {
  return `${dayList(days)[0] ?? ''}T00:00:00.000Z`;
}

/** A bar a day. @param most on any day, so that rows can be compared */
export function Days({
  days,
  counts,
  most,
}: {
  readonly days: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
  readonly most: number;
}): JSX.Element {
  const barWidth = days.length > 10 ? 4 : 12;
  const step = barWidth + 2;
  const said = days
    .filter((day) => (counts.get(day) ?? 0) > 0)
    .map((day) => `${dayText(day)}: ${count(counts.get(day) ?? 0)}`)
    .join(', ');
  return (
    <svg
      class="days"
      role="img"
      aria-label={said === '' ? t.none : said}
      width={days.length * step}
      height={daysHeight}
    >
      {days.map((day, index) => {
        const events = counts.get(day) ?? 0;
        const bar = events === 0 ? 1 : Math.max(3, (events / Math.max(1, most)) * daysHeight);
        return (
          <rect
            key={day}
            class={events === 0 ? 'trend-none' : 'trend-bad'}
            x={index * step}
            y={daysHeight - bar}
            width={barWidth}
            height={bar}
          >
            <title>{`${dayText(day)}: ${count(events)}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}

const barWidth = 5;
const gap = 2;
const trendHeight = 22;

/** The last hour in twelve bars: what failed stands on top, in red and with a gap. */
export function Trend({ lastHour }: { readonly lastHour: LastHour }): JSX.Element {
  const { points, successRate } = lastHour;
  const most = Math.max(1, ...points.map(([delivered, failed]) => delivered + failed));
  const width = points.length * (barWidth + gap) - gap;
  const delivered = points.reduce((sum, [each]) => sum + each, 0);
  const failed = points.reduce((sum, [, each]) => sum + each, 0);
  const counts = { delivered: count(delivered), failed: count(failed) };
  const rate =
    successRate === undefined ? '' : filled(t.trend.rate, { share: percent(successRate) });
  const label = `${rate} ${filled(t.trend.counts, counts)}`.trim();
  return (
    <svg
      class="trend"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${trendHeight}`}
      width={width}
      height={trendHeight}
    >
      {points.map(([taken, lost], index) => {
        const x = index * (barWidth + gap);
        const lostHeight = lost === 0 ? 0 : Math.max(2, (lost / most) * (trendHeight - 1));
        const takenHeight = taken === 0 ? 0 : Math.max(1.5, (taken / most) * (trendHeight - 1));
        const both = Math.min(takenHeight, trendHeight - lostHeight);
        return (
          <g key={index}>
            {both + lostHeight === 0 ? (
              <rect class="trend-none" x={x} y={trendHeight - 1} width={barWidth} height={1} />
            ) : null}
            <rect class="trend-good" x={x} y={trendHeight - both} width={barWidth} height={both} />
            <rect
              class="trend-bad"
              x={x}
              y={trendHeight - both - lostHeight}
              width={barWidth}
              height={lostHeight}
            />
          </g>
        );
      })}
    </svg>
  );
}
