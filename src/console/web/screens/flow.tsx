import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Pipeline } from '../../api/answers/deployment.ts';
import type { Stage } from '../../api/choices.ts';
import { duration, rate, short } from '../format.ts';
import { useNowMs } from '../polled.ts';

interface Node {
  readonly stage: Stage;
  readonly title: string;
  readonly note: string;
  /** In cells of a grid: along the flow, and across it. */
  readonly along: number;
  readonly across: number;
}

const nodes: readonly Node[] = [
  { stage: 'ingest', title: 'Ingest', note: 'calls received', along: 0, across: 0 },
  { stage: 'router', title: 'Router', note: 'who wants it', along: 1, across: 0 },
  { stage: 'delivery', title: 'Delivery', note: 'workers send', along: 2, across: 0 },
  { stage: 'delivered', title: 'Endpoints', note: 'took it', along: 3, across: 0 },
  { stage: 'rejected', title: 'Rejected', note: 'cannot be routed', along: 1, across: 1 },
  { stage: 'retry', title: 'Retry', note: 'tried again later', along: 2, across: 1 },
  { stage: 'dead-letter', title: 'Dead letters', note: 'given up', along: 3, across: 1 },
];

const edges: readonly (readonly [Stage, Stage])[] = [
  ['ingest', 'router'],
  ['router', 'delivery'],
  ['delivery', 'delivered'],
  ['router', 'rejected'],
  ['delivery', 'retry'],
  ['retry', 'dead-letter'],
];

const box = { width: 208, height: 122 };

interface Layout {
  readonly gapX: number;
  readonly gapY: number;
  readonly isUpright: boolean;
}

const wide: Layout = { gapX: 64, gapY: 64, isUpright: false };
const upright: Layout = { gapX: 20, gapY: 40, isUpright: true };

/** From left to right; on narrow screens from top to bottom. */
export function Flow({ pipeline }: { readonly pipeline: Pipeline }): JSX.Element {
  const layout = useNarrow() ? upright : wide;
  const columns = layout.isUpright ? 2 : 4;
  const rows = layout.isUpright ? 4 : 2;
  const width = columns * box.width + (columns - 1) * layout.gapX + 4;
  const height = rows * box.height + (rows - 1) * layout.gapY + 4;
  return (
    <div class={layout.isUpright ? 'flow flow-upright' : 'flow'}>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={inWords(pipeline)}>
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="8"
            markerHeight="8"
            orient="auto-start-reverse"
          >
            <path class="arrow-head" d="M1 1l6 3-6 3" />
          </marker>
        </defs>
        {edges.map(([from, to]) => (
          <Edge key={`${from} ${to}`} from={from} to={to} layout={layout} />
        ))}
        {nodes.map((node) => (
          <Box key={node.stage} node={node} pipeline={pipeline} layout={layout} />
        ))}
      </svg>
    </div>
  );
}

function placeOf({ along, across }: Node, { gapX, gapY, isUpright }: Layout): [number, number] {
  const [column, row] = isUpright ? [across, along] : [along, across];
  return [2 + column * (box.width + gapX), 2 + row * (box.height + gapY)];
}

function Edge({
  from,
  to,
  layout,
}: {
  readonly from: Stage;
  readonly to: Stage;
  readonly layout: Layout;
}): JSX.Element | null {
  const start = nodes.find(({ stage }) => stage === from);
  const end = nodes.find(({ stage }) => stage === to);
  if (start === undefined || end === undefined) return null;
  const [x1, y1] = placeOf(start, layout);
  const [x2, y2] = placeOf(end, layout);
  const isBack = to === 'retry';
  const isAside = x1 === x2 ? y2 > y1 : false;
  const d = isAside
    ? `M${x1 + box.width / 2} ${y1 + box.height}V${y2 - 3}`
    : `M${x1 + box.width} ${y1 + box.height / 2}H${x2 - 3}`;
  return (
    <path
      class="edge"
      d={d}
      marker-end="url(#arrow)"
      {...(isBack ? { 'marker-start': 'url(#arrow)' } : {})}
    />
  );
}

interface Facts {
  readonly perMinute: number | undefined;
  readonly records: number;
  readonly oldest: string | undefined;
}

function factsOf(stage: Stage, pipeline: Pipeline): Facts {
  const backlog = pipeline.backlog.filter((each) => each.stage === stage);
  return {
    perMinute: pipeline.rates.find((each) => each.stage === stage)?.perMinute,
    records: backlog.reduce((sum, { records }) => sum + records, 0),
    oldest: backlog
      .map(({ oldest }) => oldest)
      .filter((oldest) => oldest !== undefined)
      .sort()[0],
  };
}

function Box({
  node,
  pipeline,
  layout,
}: {
  readonly node: Node;
  readonly pipeline: Pipeline;
  readonly layout: Layout;
}): JSX.Element {
  const nowMs = useNowMs();
  const [x, y] = placeOf(node, layout);
  const { perMinute, records, oldest } = factsOf(node.stage, pipeline);
  const isBehind = pipeline.behind === node.stage;
  const hourly =
    node.stage === 'dead-letter'
      ? pipeline.deadLetters
      : node.stage === 'rejected'
        ? pipeline.rejectedCalls
        : undefined;
  const reads = node.stage === 'router' || node.stage === 'delivery' || node.stage === 'retry';
  return (
    <g class={isBehind ? 'node node-behind' : 'node'} transform={`translate(${x} ${y})`}>
      <rect width={box.width} height={box.height} rx="10" />
      <text class="node-title" x="16" y="27">
        {node.title}
      </text>
      {isBehind ? (
        <text class="node-mark" x={box.width - 14} y="27" text-anchor="end">
          ✕ holds back
        </text>
      ) : (
        <text class="node-note" x={box.width - 14} y="27" text-anchor="end">
          {node.note}
        </text>
      )}
      <text class="node-rate" x="16" y="64">
        {perMinute === undefined ? '–' : rate(perMinute)}
        <tspan class="node-unit" dx="5">
          per minute
        </tspan>
      </text>
      {hourly === undefined ? null : (
        <text class="node-fact" x="16" y="88">
          {short(hourly)} in the last hour
        </text>
      )}
      {reads ? (
        <>
          <text class="node-fact" x="16" y="88">
            {records === 0 ? 'nothing waits' : recordsWait(records)}
          </text>
          {oldest === undefined ? null : (
            <text class="node-fact" x="16" y="107">
              oldest {duration(nowMs - Date.parse(oldest))}
            </text>
          )}
        </>
      ) : null}
    </g>
  );
}

function inWords(pipeline: Pipeline): string {
  return nodes
    .map(({ stage, title }) => {
      const { perMinute, records } = factsOf(stage, pipeline);
      const waits = records === 0 ? '' : `, ${recordsWait(records)}`;
      const behind = pipeline.behind === stage ? ', holds back' : '';
      return `${title}: ${perMinute === undefined ? 'no rate' : `${rate(perMinute)} per minute`}${waits}${behind}`;
    })
    .join('. ');
}

function useNarrow(): boolean {
  const query = '(max-width: 760px)';
  const [isNarrow, setNarrow] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const update = (): void => {
      setNarrow(media.matches);
    };
    media.addEventListener('change', update);
    return () => {
      media.removeEventListener('change', update);
    };
  }, []);
  return isNarrow;
}

function recordsWait(records: number): string {
  return records === 1 ? '1 record waits' : `${short(records)} records wait`;
}
