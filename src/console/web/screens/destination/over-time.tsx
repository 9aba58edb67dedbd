import type { JSX } from 'preact';
import type { UrlStatus } from '../../../../event/destination-status.ts';
import type { Series, UrlSeries } from '../../../api/answers/destinations.ts';
import type { Range } from '../../../api/choices.ts';
import { absolute, count, milliseconds, rate } from '../../format.ts';
import { setQuery, usePlace } from '../../navigation.ts';
import { Answer } from '../../parts/answer.tsx';
import { Chart } from '../../parts/chart.tsx';
import { Id, Time } from '../../parts/data.tsx';
import { Nothing, Shown } from '../../parts/notes.tsx';
import { Choice } from '../../parts/controls.tsx';
import { Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/state.tsx';
import { usePolled } from '../../polled.ts';
import { useSession } from '../../session.ts';
import { filled, rich, t } from '../../texts/texts.ts';

const ranges: readonly Range[] = ['1h', '24h', '3d'];

/** Lines for the destination, and a band for each of its URLs. */
export function OverTime({
  path,
  urls,
}: {
  readonly path: string;
  readonly urls: readonly UrlStatus[];
}): JSX.Element {
  const { query } = usePlace();
  const range = ranges.find((each) => each === query.get('range')) ?? '1h';
  const series = usePolled<Series>(`${path}/series?range=${range}`, 10_000);
  return (
    <Section
      title={t.overTime.title}
      aside={
        <Choice
          label={t.overTime.range}
          values={ranges.map((each) => [each, t.overTime[each]] as const)}
          chosen={range}
          onChoose={(value) => {
            setQuery({ range: value === '1h' ? undefined : value });
          }}
        />
      }
    >
      <Shown of={series}>
        {(answer) => (
          <>
            <Charts series={answer} />
            <h3 class="sub-head">{t.overTime.eachUrl}</h3>
            <UrlBands series={answer} urls={urls} />
          </>
        )}
      </Shown>
    </Section>
  );
}

function Charts({ series: { points, stepS } }: { readonly series: Series }): JSX.Element {
  const at = points.map((point) => Date.parse(point.at) / 1_000);
  const perMinute = (number: number): number => (number * 60) / stepS;
  return (
    <div class="charts">
      <Chart
        title={t.overTime.delivered}
        at={at}
        format={rate}
        lines={[
          {
            title: t.overTime.lines.delivered,
            color: 'good-fill',
            isFilled: true,
            values: points.map(({ delivered }) => perMinute(delivered)),
          },
        ]}
      />
      <Chart
        title={t.overTime.notDelivered}
        at={at}
        format={rate}
        lines={[
          {
            title: t.overTime.lines.failed,
            color: 'bad-fill',
            isFilled: true,
            values: points.map(({ failed }) => perMinute(failed)),
          },
          {
            title: t.overTime.lines.refused,
            color: 'warn-fill',
            isDashed: true,
            values: points.map(({ refused }) => perMinute(refused)),
          },
        ]}
      />
      <Chart
        title={t.overTime.latency}
        at={at}
        format={milliseconds}
        lines={[
          { title: 'p99', color: 'ink-soft', values: points.map(({ p99Ms }) => p99Ms) },
          {
            title: 'p50',
            color: 'line-strong',
            isDashed: true,
            values: points.map(({ p50Ms }) => p50Ms),
          },
        ]}
      />
    </div>
  );
}

function UrlBands({
  series,
  urls,
}: {
  readonly series: Series;
  readonly urls: readonly UrlStatus[];
}): JSX.Element {
  const known = new Map(urls.map((status) => [status.url, status]));
  const banded = new Map(series.urls.map((each) => [each.url, each]));
  const all = [...new Set([...known.keys(), ...banded.keys()])];
  if (all.length === 0) return <Nothing title={t.overTime.none}>{t.overTime.noneHint}</Nothing>;
  return (
    <ul class="url-bands panel">
      {all.map((url) => (
        <UrlBand
          key={url}
          url={url}
          status={known.get(url)}
          own={banded.get(url)}
          series={series}
        />
      ))}
    </ul>
  );
}

const breakerLooks = {
  closed: { tone: 'good', shape: 'check' },
  open: { tone: 'bad', shape: 'cross' },
  'half-open': { tone: 'warn', shape: 'again' },
} as const;

function UrlBand({
  url,
  status,
  own,
  series,
}: {
  readonly url: string;
  readonly status: UrlStatus | undefined;
  readonly own: UrlSeries | undefined;
  readonly series: Series;
}): JSX.Element {
  const { role } = useSession();
  // Customers know nothing of breakers.
  const words = role === 'customer' ? t.overTime.sendings : t.overTime.breakers;
  const breaker = status?.breaker ?? own?.breaker;
  return (
    <li>
      <div class="url-line">
        <Id text={url} />
        {breaker === undefined ? null : <Badge {...breakerLooks[breaker]} word={words[breaker]} />}
        {status?.failingSince === undefined ? null : (
          <span class="quiet">
            {rich(t.overTime.failingSince, { time: <Time at={status.failingSince} /> })}
          </span>
        )}
        {status?.nextProbe === undefined ? null : (
          <span class="quiet">
            {rich(t.overTime.triedAgain, { time: <Time at={status.nextProbe} /> })}
          </span>
        )}
        {status?.uncompressedSince === undefined ? null : (
          <span class="quiet">
            {t.overTime.uncompressed} <Time at={status.uncompressedSince} />
          </span>
        )}
      </div>
      <Band bands={own?.bands ?? []} series={series} />
      {status?.lastAnswer === undefined ? null : (
        <p class="url-answer">
          <Answer answer={status.lastAnswer} />
        </p>
      )}
    </li>
  );
}

const width = 1_000;
const height = 20;

/** One URL over time: failures hang from the top, deliveries stand at the bottom. */
function Band({
  bands,
  series,
}: {
  readonly bands: UrlSeries['bands'];
  readonly series: Series;
}): JSX.Element {
  const fromMs = Date.parse(series.from);
  const lengthMs = Math.max(1, series.points.length * series.stepS * 1_000);
  const x = (at: string): number =>
    Math.min(width, Math.max(0, ((Date.parse(at) - fromMs) / lengthMs) * width));
  const delivered = bands.reduce((sum, each) => sum + each.delivered, 0);
  const failed = bands.reduce((sum, each) => sum + each.failed, 0);
  return (
    <svg
      class="band"
      role="img"
      aria-label={filled(t.trend.band, { delivered: count(delivered), failed: count(failed) })}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
    >
      <rect class="band-none" width={width} height={height} />
      {bands.map((band) => {
        const share = band.failed / Math.max(1, band.failed + band.delivered);
        // A single failure among thousands is to be seen.
        const lost = share === 0 ? 0 : share === 1 ? height : Math.max(3, share * height);
        const place = { x: x(band.from), width: Math.max(1.5, x(band.to) - x(band.from)) };
        return (
          <g key={band.from}>
            <title>
              {filled(t.trend.part, {
                at: absolute(band.from),
                delivered: count(band.delivered),
                failed: count(band.failed),
              })}
            </title>
            <rect class="trend-good" {...place} y={lost} height={height - lost} />
            <rect class="trend-bad" {...place} y={0} height={lost} />
          </g>
        );
      })}
    </svg>
  );
}
