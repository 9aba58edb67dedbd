import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type UPlot from 'uplot';
import { shortClockTime, shortDay } from '../format.ts';
import { filled, t } from '../texts/texts.ts';

export interface Line {
  readonly title: string;
  /** A custom property of the stylesheet. */
  readonly color: string;
  readonly isDashed?: boolean;
  readonly isFilled?: boolean;
  readonly values: readonly (number | null)[];
}

const height = 148;

/** Lines over time. The legend says the last values, or those under the pointer. */
export function Chart({
  title,
  at,
  lines,
  format,
}: {
  readonly title: string;
  /** Epoch seconds. */
  readonly at: readonly number[];
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const [pointed, setPointed] = useState<number | null>(null);
  const scheme = useScheme();
  const data: UPlot.AlignedData = [[...at], ...lines.map(({ values }) => [...values])];
  const latest = useRef(data);
  latest.current = data;
  const shape = lines.map((line) => line.title).join();

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let isGone = false;
    let end = (): void => undefined;
    const begin = ({ default: Plot }: { readonly default: typeof UPlot }): void => {
      if (isGone) return;
      const options = optionsOf(lines, element, format, setPointed);
      const created = new Plot(options, latest.current, element);
      plot.current = created;
      const observer = new ResizeObserver(() => {
        created.setSize({ width: element.clientWidth, height });
      });
      observer.observe(element);
      end = () => {
        observer.disconnect();
        created.destroy();
      };
    };
    // Where another version of the console has come meanwhile, there is none; the figures are there in words.
    import('uplot').then(begin, () => undefined);
    return () => {
      isGone = true;
      end();
    };
  }, [scheme, shape]);
  useEffect(() => {
    plot.current?.setData(latest.current);
  });

  return (
    <figure class="chart panel">
      <figcaption>
        <span class="chart-title">{title}</span>
        <span class="legend">
          {lines.map((line) => (
            <span key={line.title} class="legend-item">
              <LegendMark line={line} />
              {line.title} <strong>{shownValue(line, pointed, format)}</strong>
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={box} class="chart-box" aria-hidden="true" />
      <p class="unseen">{lines.map((line) => inWords(line, format)).join(' ')}</p>
    </figure>
  );
}

function LegendMark({ line }: { readonly line: Line }): JSX.Element {
  return (
    <svg class={`mark mark-${line.color}`} width="14" height="8" aria-hidden="true">
      <path d="M0 4h14" stroke-dasharray={line.isDashed === true ? '4 2' : undefined} />
    </svg>
  );
}

function shownValue(line: Line, index: number | null, format: (value: number) => string): string {
  const value = index === null ? line.values.findLast((each) => each !== null) : line.values[index];
  return value === null || value === undefined ? '–' : format(value);
}

function inWords({ title, values }: Line, format: (value: number) => string): string {
  const known = values.filter((value) => value !== null);
  const last = known.at(-1);
  if (last === undefined) return filled(t.overTime.nothing, { title });
  const most = format(Math.max(...known));
  return filled(t.overTime.inWords, { title, last: format(last), most });
}

function optionsOf(
  lines: readonly Line[],
  element: HTMLElement,
  format: (value: number) => string,
  onPoint: (index: number | null) => void,
): UPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const axis: UPlot.Axis = {
    stroke: color('ink-quiet'),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: color('line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: 'destination' }, y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      { ...axis, size: 26, space: 70, values: (_plot, times) => times.map(timeLabel(times)) },
      { ...axis, size: 54, space: 30, values: (_plot, values) => values.map(format) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.title,
        stroke: color(line.color),
        width: 1.75,
        points: { show: false },
        spanGaps: false,
        ...(line.isDashed === true ? { dash: [5, 3] } : {}),
        ...(line.isFilled === true ? { fill: `${color(line.color)}26` } : {}),
      })),
    ],
    hooks: {
      setCursor: [
        ({ cursor }) => {
          onPoint(cursor.idx ?? null);
        },
      ],
    },
  };
}

/** The date where a day begins. */
function timeLabel(times: readonly number[]): (seconds: number, index: number) => string {
  return (seconds, index) => {
    const date = new Date(seconds * 1_000);
    const before = times[index - 1];
    const isNewDay = before !== undefined && new Date(before * 1_000).getDate() !== date.getDate();
    return isNewDay ? shortDay(date) : shortClockTime(date);
  };
}

/** Canvases do not follow the stylesheet. */
function useScheme(): boolean {
  const [isDark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const media = matchMedia('(prefers-color-scheme: dark)');
    const update = (): void => {
      setDark(media.matches);
    };
    media.addEventListener('change', update);
    return () => {
      media.removeEventListener('change', update);
    };
  }, []);
  return isDark;
}
