import { medianOf, type BenchResult } from './measure.ts';
import type { GrowthPoint, GrowthStand } from './growth-stand.ts';
import type { RoleWork } from './stand.ts';

/** What grows, in steps, while everything else stays. */
export interface Range {
  readonly name: string;
  readonly points: readonly RangePoint[];
  /** One sample of a point. */
  readonly measure: (stand: GrowthStand, point: GrowthPoint) => Promise<RoleWork>;
  /** How that is measured, and where the growth comes from that cannot be avoided. */
  readonly notes: readonly string[];
  /** Growth that a bare loop has as well is not the role's. */
  readonly withBareLoop?: true;
}

export interface RangePoint {
  readonly label: string;
  readonly point: GrowthPoint;
  /** Stated beside the others: it differs in more than what grows. */
  readonly isExtra?: true;
}

const mostGrowth = 0.1;
export const burstEvents = 20_000;
const mostBurstBytes = 48_000_000;
const perWorkerPerSecond = 1_000;
const steadySeconds = 4;
const kb = 1_000;

/** What all points have but the one thing that grows. */
export const base: GrowthPoint = {
  workers: 1,
  partitions: 12,
  destinations: 10,
  hosts: 10,
  bodyBytes: kb,
  answerMs: 0,
};

const burst = (stand: GrowthStand, { bodyBytes }: GrowthPoint): Promise<RoleWork> =>
  stand.burst(Math.min(burstEvents, Math.ceil(mostBurstBytes / bodyBytes)));
const atSteadyRate = (stand: GrowthStand, { workers }: GrowthPoint): Promise<RoleWork> =>
  stand.steadily(workers * perWorkerPerSecond, steadySeconds);

const asFastAsItGoes = `Each sample is a burst of ${burstEvents.toLocaleString('en-US')} events, delivered as fast as the worker can.`;

export const ranges: readonly Range[] = [
  {
    name: 'workers',
    points: [1, 2, 4].map((workers) => ({ label: `${workers}`, point: { ...base, workers } })),
    measure: atSteadyRate,
    notes: [
      `Each worker gets ${perWorkerPerSecond.toLocaleString('en-US')} events/s. A worker takes most of its time at such a rate for waking up, so this is not its cost at full load.`,
    ],
  },
  {
    name: 'partitions',
    points: [6, 12, 24, 48, 96].map((partitions) => ({
      label: `${partitions}`,
      point: { ...base, partitions },
    })),
    measure: burst,
    notes: [
      asFastAsItGoes,
      'One worker reads all partitions of the shared topic and of the six retry topics.',
    ],
  },
  {
    name: 'destinations',
    points: [
      ...[10, 100, 1_000, 10_000, 50_000].map((destinations) => ({
        label: destinations.toLocaleString('en-US'),
        point: { ...base, destinations },
      })),
      {
        label: '5,000, each on a host of its own',
        point: { ...base, destinations: 5_000, hosts: 5_000 },
        isExtra: true,
      },
    ],
    measure: burst,
    notes: [
      asFastAsItGoes,
      `Events come to all destinations in turn, which are spread over ${base.hosts} hosts. Memory then decides: the objects of a lane are no longer in a cache of the CPU when its next event comes. With tens of thousands in one worker, they fill its heap too, and most of what is added is garbage collection.`,
      'Hosts cost more than destinations: a connection that is used once in a while is read and written by system calls of its own.',
    ],
  },
  {
    name: 'body size',
    points: [200, kb, 4 * kb, 16 * kb, 32 * kb].map((bodyBytes) => ({
      label: `${bodyBytes / kb} KB`,
      point: { ...base, bodyBytes },
    })),
    measure: burst,
    notes: [
      'Each sample is a burst of as many events as 48 MB hold, and 20,000 at most.',
      'Bytes cost: a body is decompressed, signed and sent, and half of it is hard to compress. A bare loop over the same client pays for them as well.',
    ],
    withBareLoop: true,
  },
  {
    name: 'time to answer',
    points: [1, 10, 100, 500].map((answerMs) => ({
      label: `${answerMs} ms`,
      point: { ...base, destinations: 32, hosts: 32, answerMs },
    })),
    measure: atSteadyRate,
    notes: [
      `${perWorkerPerSecond.toLocaleString('en-US')} events/s, to 32 destinations. At 500 ms, 500 are in flight, each on a connection of its own.`,
    ],
  },
];

/** Of one point, in one round after the other. */
export interface Sampled extends RangePoint {
  readonly samples: readonly RoleWork[];
  /** What a bare loop took in the same rounds. */
  readonly bare: readonly RoleWork[];
  /** CPU ms a second of all its roles while nothing is to be delivered. */
  readonly atRestMs: number;
}

/** A range as the page has it: the point that costs most is compared with the first. */
export function rangeResult(range: Range, sampled: readonly Sampled[]): BenchResult {
  const [first] = sampled;
  if (first === undefined) throw new Error('a range needs points');
  const grown = sampled
    .filter(({ isExtra }) => isExtra !== true)
    .map((each) => ({ ...each, ratios: ratiosTo(first.samples, each.samples) }));
  const [, ...later] = grown;
  const worst = later.reduce((most, each) =>
    medianOf(each.ratios) > medianOf(most.ratios) ? each : most,
  );
  const beyond = grown.find(({ ratios }) => medianOf(ratios) >= 1 + mostGrowth);
  const bareGrowthUs = growthUs(first.bare, worst.bare);
  const isExplained = growthUs(first.samples, worst.samples) < bareGrowthUs * (1 + mostGrowth);
  const ofBare =
    range.withBareLoop === true ? ', or, in µs, by at most 10 % more than a bare loop' : '';
  return {
    name: `growth, ${range.name}: CPU time a delivery at ${worst.label}, against ${first.label}`,
    required: `grows by less than 10 %${ofBare}`,
    ratios: worst.ratios,
    median: medianOf(worst.ratios),
    spread: [Math.min(...worst.ratios), Math.max(...worst.ratios)],
    passed: beyond === undefined || isExplained,
    absolutes: {
      'grows by 10 % or more from': beyond?.label ?? 'nowhere',
      ...(range.withBareLoop === true
        ? {
            'grows by, CPU µs': growthUs(first.samples, worst.samples).toFixed(1),
            'a bare loop by, CPU µs': bareGrowthUs.toFixed(1),
          }
        : {}),
    },
    tables: [tableOf(range, first, sampled)],
    notes: range.notes,
  };
}

function tableOf(
  { name, withBareLoop }: Range,
  first: Sampled,
  sampled: readonly Sampled[],
): NonNullable<BenchResult['tables']>[number] {
  const bareColumns = ['bare loop, CPU µs', 'CPU µs a KB beyond the first', 'of the bare loop'];
  return {
    title:
      'each figure is a median; a ratio is that of two samples of the same round, so its median is not the quotient of two medians',
    columns: [
      name,
      'deliveries',
      'CPU µs a delivery',
      'to the first',
      'least',
      'most',
      'at rest, CPU ms/s',
      ...(withBareLoop === true ? bareColumns : []),
    ],
    rows: sampled.map((each) => {
      const ratios = ratiosTo(first.samples, each.samples);
      const moreKb = (each.point.bodyBytes - first.point.bodyBytes) / kb;
      const perKb = (us: number): string => (moreKb === 0 ? '' : (us / moreKb).toFixed(2));
      return [
        each.label,
        each.samples.reduce((sum, { delivered }) => sum + delivered, 0).toLocaleString('en-US'),
        costUs(each.samples).toFixed(1),
        medianOf(ratios).toFixed(2),
        Math.min(...ratios).toFixed(2),
        Math.max(...ratios).toFixed(2),
        each.atRestMs.toFixed(0),
        ...(withBareLoop === true
          ? [
              costUs(each.bare).toFixed(1),
              perKb(growthUs(first.samples, each.samples)),
              perKb(growthUs(first.bare, each.bare)),
            ]
          : []),
      ];
    }),
  };
}

/** Median CPU µs a delivery. */
export function costUs(samples: readonly RoleWork[]): number {
  return medianOf(samples.map(perDelivery));
}

/** 0 where nothing was measured. */
function growthUs(from: readonly RoleWork[], to: readonly RoleWork[]): number {
  return from.length === 0 ? 0 : costUs(to) - costUs(from);
}

function ratiosTo(first: readonly RoleWork[], samples: readonly RoleWork[]): number[] {
  return samples.map((each, round) => perDelivery(each) / perDelivery(first[round] ?? each));
}

function perDelivery({ cpuUs, delivered }: RoleWork): number {
  return cpuUs / delivered;
}
