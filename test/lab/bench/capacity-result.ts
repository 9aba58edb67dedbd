import { assumptions, capacityFor, type Capacity, type Measured } from './capacity.ts';
import { largestFleet } from './fleet.ts';
import { summarize, type BenchResult } from './measure.ts';

const loads = [
  { deliveriesPerSecond: 1_000, destinations: 100 },
  { deliveriesPerSecond: 10_000, destinations: 1_000 },
  { deliveriesPerSecond: 100_000, destinations: 10_000 },
  { deliveriesPerSecond: 1_000_000, destinations: 50_000 },
];

/** What deployments of four sizes need, computed from these figures. */
export function capacityResult(measured: Measured): BenchResult {
  const sizes = loads.map((load) => capacityFor(load, measured));
  const largest = sizes.at(-1)?.workers ?? 0;
  const columns = ['', ...loads.map(({ deliveriesPerSecond }) => whole(deliveriesPerSecond))];
  const row = (what: string, of: (size: Capacity) => string): string[] => [what, ...sizes.map(of)];
  return {
    name: 'growth, capacity: workers for a million deliveries a second',
    required: `at most ${largestFleet.workers}, which \`fleet\` simulates`,
    ...summarize([largest]),
    passed: largest <= largestFleet.workers,
    absolutes: {
      'a delivery, CPU µs': measured.deliveryUs.toFixed(1),
      'a router, CPU µs an event': measured.routerUs.toFixed(1),
      'body, bytes': whole(measured.bodyBytes),
      'on disk, bytes: an event with its key and headers': measured.eventBytes.toFixed(0),
      'on disk, bytes: the line of an attempt': measured.attemptBytes.toFixed(0),
    },
    tables: [
      {
        title: 'deliveries a second, and what they need',
        columns,
        rows: [
          row('destinations', ({ load }) => whole(load.destinations)),
          row('cores that are busy', ({ cores }) => cores.toFixed(1)),
          row('workers', ({ workers }) => whole(workers)),
          row('they are so many for', ({ workersFor }) => workersFor),
          row('routers', ({ routers }) => whole(routers)),
          row('partitions', ({ partitions }) => whole(partitions)),
          row('brokers', ({ brokers }) => whole(brokers)),
          row('they are so many for', ({ brokersFor }) => brokersFor),
          row('into brokers, MB/s', ({ brokersIn }) => mega(brokersIn)),
          row('out of brokers, MB/s', ({ brokersOut }) => mega(brokersOut)),
          row('to endpoints, MB/s', ({ endpointsOut }) => mega(endpointsOut)),
          row('from endpoints, MB/s', ({ endpointsIn }) => mega(endpointsIn)),
          row('disk, TB', ({ diskBytes }) => (diskBytes / 1e12).toFixed(1)),
        ],
      },
      {
        title: 'what breaks first: need as a share of what there is, and from 1 on it breaks',
        columns,
        rows: (sizes[0]?.limits ?? []).map(({ what }) =>
          row(what, ({ limits }) =>
            (limits.find((limit) => limit.what === what)?.fullness ?? 0).toPrecision(2),
          ),
        ),
      },
    ],
    notes: [...sizes.map(broken), assumed()],
  };
}

function broken({ load, limits }: Capacity): string {
  const said = limits
    .filter(({ fullness }) => fullness >= 1)
    .map(({ what, then }) => `${what} (${then})`);
  return `At ${whole(load.deliveriesPerSecond)} deliveries/s, in this order: ${said.length === 0 ? 'nothing breaks' : said.join('; ')}.`;
}

function assumed(): string {
  const { destinationsPerCall, answerMs, busyShare, putOffShare, replicas } = assumptions;
  const { brokerBytesPerSecond, brokerPartitions, brokerDiskBytes } = assumptions;
  return [
    `Assumed: calls from Kafka, each as large as an event, for ${destinationsPerCall} destinations; endpoints that answer in ${answerMs} ms on connections that are kept;`,
    `${busyShare * 100} % of a core for each process; ${putOffShare * 100} % of the events put off once; ${replicas} replicas;`,
    `a broker takes ${mega(brokerBytesPerSecond)} MB/s, ${whole(brokerPartitions)} replicas of partitions, and ${brokerDiskBytes / 1e12} TB.`,
    'Retention is that of the topics as they are created. Gateways, TLS and new connections are not in it.',
  ].join(' ');
}

function whole(value: number): string {
  return value.toLocaleString('en-US');
}

function mega(bytes: number): string {
  const mb = bytes / 1e6;
  return mb < 10 ? mb.toFixed(1) : whole(Math.round(mb));
}
