import { medianOf, summarize, type BenchResult, type Table } from '../measure.ts';
import { perCpuSecond, perSecond, type Cell, type Run } from './cells.ts';
import {
  crashEventsPerSecond,
  hangingEventsPerSecond,
  hangingSeconds,
  latencyEventsPerSecond,
  type Beside,
  type Crash,
  type Latency,
} from './experiments.ts';
import type { Matrix } from './matrix.ts';
import type { Peer } from './peer.ts';

/** What was measured, as results and tables. Postrider is the first of the peers. */

type ByPeer<T> = ReadonlyMap<Peer, T>;
const stated = { required: 'nothing, only stated', passed: true } as const;
/** Of a healthy destination's events; the rest may be on its way when the time is over. */
const leastDelivered = 0.99;

/**
 * One result for each cell, against whoever of the others delivers most in a CPU second, and one that holds
 * the tables.
 */
export function matrixResults(
  matrix: Matrix,
  peers: readonly Peer[],
  versions: Readonly<Record<string, string>>,
): BenchResult[] {
  const [first, ...others] = peers;
  if (first === undefined) throw new Error('there are no peers');
  const results = Array.from(matrix, ([cell, runs]): BenchResult => {
    const best = bestOf(others, runs);
    const theirs = runs.get(best) ?? [];
    const ratios = (runs.get(first) ?? []).map(
      (run, round) => perCpuSecond(run) / perCpuSecond(theirs[round] ?? run),
    );
    return {
      name: `${cell.name}: deliveries a CPU second, ${first.name} against the best of the others`,
      ...stated,
      ...summarize(ratios),
      absolutes: {
        'the best of the others': best.name,
        [`${first.name}, CPU µs a delivery`]: cpuUs(runs.get(first) ?? []),
        [`${best.name}, CPU µs a delivery`]: cpuUs(theirs),
      },
    };
  });
  const [head, ...rest] = results;
  if (head === undefined) throw new Error('there are no cells');
  const tables = matrixTables(matrix, peers);
  return [{ ...head, absolutes: { ...versions, ...head.absolutes }, tables }, ...rest];
}

function bestOf(others: readonly Peer[], runs: ByPeer<readonly Run[]>): Peer {
  const measured = others.filter((peer) => runs.has(peer));
  const medianFor = (peer: Peer): number => medianOf((runs.get(peer) ?? []).map(perCpuSecond));
  const [best] = measured.toSorted((a, b) => medianFor(b) - medianFor(a));
  if (best === undefined) throw new Error('there is nobody to compare with');
  return best;
}

function cpuUs(runs: readonly Run[]): string {
  return medianOf(runs.map((run) => run.cpuUs / run.deliveries)).toFixed(1);
}

function matrixTables(matrix: Matrix, peers: readonly Peer[]): Table[] {
  const table = (title: string, figure: (runs: readonly Run[], cell: Cell) => string): Table => ({
    title,
    columns: ['endpoint', ...peers.map(({ name }) => name)],
    rows: Array.from(matrix, ([cell, runs]) => [
      cell.name,
      ...peers.map((peer) => {
        const measured = runs.get(peer);
        return measured === undefined ? '' : figure(measured, cell);
      }),
    ]),
  });
  const median = (runs: readonly Run[], of: (run: Run) => number): number => medianOf(runs.map(of));
  return [
    table('deliveries a CPU second', (runs) => whole(median(runs, perCpuSecond))),
    table('deliveries a second, on cores that broker and endpoints share', (runs) =>
      whole(median(runs, perSecond)),
    ),
    table(
      'connections opened for 1,000 deliveries, and how many of them resumed a TLS session',
      (runs, cell) =>
        [
          whole(1_000 * median(runs, ({ connections }) => connections)),
          ...(cell.scheme === 'https'
            ? [`${whole(100 * median(runs, ({ resumed }) => resumed))} % resumed`]
            : []),
        ].join(', '),
    ),
    table('memory at the end, MB resident', (runs) =>
      whole(median(runs, ({ rssBytes }) => rssBytes / 1_048_576)),
    ),
  ];
}

export function latencyResult(found: ByPeer<readonly Latency[]>): BenchResult {
  const [[, own] = [], ...others] = found;
  const best = Math.min(...others.map(([, latencies]) => median99(latencies)));
  return {
    name: `latency p99 at ${latencyEventsPerSecond} events/s, Postrider against the best of the others`,
    ...stated,
    ...summarize((own ?? []).map(({ p99Ms }) => p99Ms / best)),
    absolutes: {},
    tables: [
      {
        title: 'from produce to arrival, ms',
        columns: ['peer', 'p50', 'p99'],
        rows: Array.from(found, ([{ name }, latencies]) => [
          name,
          medianOf(latencies.map(({ p50Ms }) => p50Ms)).toFixed(1),
          median99(latencies).toFixed(1),
        ]),
      },
    ],
  };
}

function median99(latencies: readonly Latency[]): number {
  return medianOf(latencies.map(({ p99Ms }) => p99Ms));
}

export function hangingResult(found: ByPeer<Beside>): BenchResult {
  const [[, own] = []] = found;
  const share = own?.deliveredShare ?? NaN;
  return {
    name: 'a healthy destination beside one that hangs: share of its events that Postrider delivers',
    required: `at least ${leastDelivered}`,
    ...summarize([share]),
    passed: share >= leastDelivered,
    absolutes: {
      'events a second for each of both': String(hangingEventsPerSecond),
      'for so many seconds': String(hangingSeconds),
    },
    tables: [
      {
        title: 'what the healthy destination gets',
        columns: ['peer', 'delivered', 'p50, ms', 'p99, ms'],
        rows: Array.from(found, ([{ name }, { deliveredShare, p50Ms, p99Ms }]) => [
          name,
          `${(100 * deliveredShare).toFixed(1)} %`,
          ...[p50Ms, p99Ms].map((ms) => (Number.isNaN(ms) ? 'none' : ms.toFixed(1))),
        ]),
      },
    ],
  };
}

export function crashResult(found: ByPeer<Crash>): BenchResult {
  const [[, own] = []] = found;
  const lost = own?.lost ?? NaN;
  return {
    name: `kill -9 at ${crashEventsPerSecond} events/s: events that Postrider loses`,
    required: 'none',
    ...summarize([lost]),
    passed: lost === 0,
    absolutes: {},
    tables: [
      {
        title: 'killed, and started again after 2 s',
        columns: ['peer', 'next delivery after, s', 'repeated', 'never delivered'],
        rows: Array.from(found, ([{ name }, { silentMs, repeated, lost }]) => [
          name,
          (silentMs / 1_000).toFixed(1),
          whole(repeated),
          whole(lost),
        ]),
      },
    ],
  };
}

function whole(figure: number): string {
  return Math.round(figure).toLocaleString('en-US');
}
