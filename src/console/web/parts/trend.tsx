import type { JSX } from 'preact';
import type { LastHour } from '../../api/answers/destinations.ts';
import { count, percent } from '../format.ts';

const barWidth = 5;
const gap = 2;
const height = 22;

/** The last hour in twelve bars: what failed stands on top, in red and with a gap. */
export function Trend({ lastHour }: { readonly lastHour: LastHour }): JSX.Element {
  const { points, successRate } = lastHour;
  const most = Math.max(1, ...points.map(([delivered, failed]) => delivered + failed));
  const width = points.length * (barWidth + gap) - gap;
  const delivered = points.reduce((sum, [each]) => sum + each, 0);
  const failed = points.reduce((sum, [, each]) => sum + each, 0);
  const rate = successRate === undefined ? '' : `${percent(successRate)} of attempts succeeded. `;
  const label = `${rate}${count(delivered)} delivered and ${count(failed)} failed in the last hour`;
  return (
    <svg
      class="trend"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
    >
      {points.map(([taken, lost], index) => {
        const x = index * (barWidth + gap);
        const lostHeight = lost === 0 ? 0 : Math.max(2, (lost / most) * (height - 1));
        const takenHeight = taken === 0 ? 0 : Math.max(1.5, (taken / most) * (height - 1));
        const both = Math.min(takenHeight, height - lostHeight);
        return (
          <g key={index}>
            {both + lostHeight === 0 ? (
              <rect class="trend-none" x={x} y={height - 1} width={barWidth} height={1} />
            ) : null}
            <rect class="trend-good" x={x} y={height - both} width={barWidth} height={both} />
            <rect
              class="trend-bad"
              x={x}
              y={height - both - lostHeight}
              width={barWidth}
              height={lostHeight}
            />
          </g>
        );
      })}
    </svg>
  );
}
