import type { JSX } from 'preact';
import { count, dayText } from '../format.ts';

const dayMs = 86_400_000;
const height = 20;

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
      aria-label={said === '' ? 'none' : said}
      width={days.length * step}
      height={height}
    >
      {days.map((day, index) => {
        const events = counts.get(day) ?? 0;
        const bar = events === 0 ? 1 : Math.max(3, (events / Math.max(1, most)) * height);
        return (
          <rect
            key={day}
            class={events === 0 ? 'trend-none' : 'trend-bad'}
            x={index * step}
            y={height - bar}
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
