import { diceOf } from './dice.ts';
import type { Burst, Day, DestinationPlan, EndpointPlan, Fault, Scenario } from './scenario.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;

/** What a day has beside the healthy destinations. */
interface Trouble extends Partial<
  Pick<Scenario, 'budget' | 'deletionDelayMs' | 'nodes' | 'troubledMs' | 'faults'>
> {
  readonly destinations: readonly DestinationPlan[];
  readonly bursts: readonly Burst[];
}

type Dice = ReturnType<typeof diceOf>;

/**
 * A day that every operator sees in the first year: healthy destinations on few platforms, and beside them one thing
 * that goes wrong for long. `neighbours.ts` says what the healthy ones may feel of it.
 */
export function makeOrdinaryDay(day: Day, random: () => number, scenario: Scenario): Scenario {
  const dice = diceOf(random);
  const { whole, oneOf } = dice;
  const platforms = whole(1, 3);
  const well = Array.from({ length: whole(2, 5) }, (_, index) => {
    const id = `well${index}`;
    return destination(id, { url: `https://${id}.platform${index % platforms}.example/0` });
  });
  const { destinations, ...rest } = troubles[day](dice);
  return {
    ...scenario,
    partitions: oneOf([2, 4, 6]),
    maxInFlight: 1_024,
    users: 100,
    faults: [],
    troubledMs: 15 * minuteMs,
    ...rest,
    destinations: [...destinations, ...well],
    day,
  };
}

const troubles: Readonly<Record<Day, (dice: Dice) => Trouble>> = {
  /** Customers who have been gone for long, each with a domain of their own; calls come quickly by day, and once a minute or so at night. */
  'dead customers': ({ whole, oneOf, chance }) => {
    const night: Burst = { atMs: 0, calls: whole(8, 14), perSecond: 1 / whole(30, 120) };
    const day: Burst = { atMs: whole(0, 10) * minuteMs, calls: whole(20, 60), perSecond: 2 };
    return {
      destinations: several(whole(8, 14), 'dead', () => ({
        goneFromMs: 0,
        gone: oneOf(['refuses connections', 'drops packets', 'has no name'] as const),
      })),
      bursts: chance(0.5) ? [night] : [night, day],
      troubledMs: 30 * minuteMs,
    };
  },

  /** Endpoints that fail, and slow ones with topics of their own, with more events than the worker has room for. */
  backlog: ({ whole, oneOf }) => ({
    destinations: [
      ...several(whole(3, 6), 'failing', () => ({
        troubles: [
          {
            kind: oneOf(['answers 503', 'answers 429', 'refuses connections', 'flaps']),
            fromMs: 0,
            untilMs: whole(2, 12) * minuteMs,
          },
        ],
      })),
      ...several(6, 'slow', () => ({ latencyMs: [1_000, 3_000], capacity: 4 })).map((slow) => ({
        ...slow,
        maxInFlight: 4,
        dedicatedPartitions: oneOf([1, 3]),
      })),
    ],
    bursts: [{ atMs: 10 * secondMs, calls: 300, perSecond: oneOf([5, 10]) }],
    // Less than what waits for the slow ones. A window is a thirtieth of what it usually is, and so is what comes.
    budget: { records: 1_536, bytes: 16 * 1024 * 1024 },
  }),

  /** One topic that takes nothing for minutes to hours. */
  'unwritable topic': ({ whole, oneOf }) => {
    const forMs = oneOf([whole(2, 10), whole(2, 10), whole(60, 120)]) * minuteMs;
    const atMs = whole(10, 60) * secondMs;
    return {
      destinations: [
        { ...destination('own', {}), dedicatedPartitions: oneOf([1, 3]) },
        ...several(1, 'failing', () => ({
          troubles: [{ kind: 'answers 503', fromMs: 0, untilMs: 10 * minuteMs }],
        })),
      ],
      bursts: [
        { atMs: 0, calls: 120, perSecond: 1 },
        { atMs: atMs + forMs - 30 * secondMs, calls: 60, perSecond: 1 },
      ],
      faults: [
        {
          atMs,
          kind: 'unwritable',
          destination: 0,
          how: oneOf(['was deleted', 'no right', 'no leader']),
          forMs,
        },
      ],
      troubledMs: atMs + forMs + 2 * minuteMs,
    };
  },

  /** A broker is away for minutes. With six, some partitions have no replica on it. */
  'lost broker': ({ whole, oneOf }) => {
    const nodes = oneOf([3, 6]);
    const atMs = whole(10, 60) * secondMs;
    return {
      nodes,
      destinations: several(1, 'failing', () => ({
        troubles: [{ kind: 'answers 503', fromMs: 0, untilMs: 5 * minuteMs }],
      })),
      bursts: [{ atMs: 0, calls: 240, perSecond: 1 }],
      faults: [
        {
          atMs,
          kind: 'broker',
          node: whole(1, nodes),
          state: oneOf(['down', 'suspended', 'isolated']),
          forMs: whole(2, 8) * minuteMs,
        },
      ],
      // The default: a deletion takes effect later than Kafka replaces a broker.
      deletionDelayMs: 30 * secondMs,
    };
  },

  /** Destinations that were paused are resumed at once, while calls come. */
  'many resumed': ({ whole, oneOf, chance }) => {
    const paused = several(whole(3, 6), 'paused', () => ({
      latencyMs: oneOf([
        [5, 40],
        [200, 900],
      ]),
    }));
    const forMs = whole(60, 240) * secondMs;
    return {
      destinations: paused,
      bursts: [
        { atMs: 20 * secondMs, calls: whole(40, 120), perSecond: 4 },
        { atMs: 10 * secondMs + forMs, calls: 60, perSecond: 2 },
      ],
      faults: paused.map((_, index): Fault => ({
        atMs: whole(5, 15) * secondMs,
        kind: 'pause',
        destination: index,
        forMs,
        endsAll: chance(0.3),
      })),
    };
  },

  /** Configuration is applied again and again, without a change. */
  'applied again': ({ whole, oneOf }) => ({
    destinations: [
      ...several(whole(1, 3), 'failing', () => ({
        troubles: [
          {
            kind: oneOf(['answers 503', 'hangs', 'answers 429']),
            fromMs: 0,
            untilMs: 5 * minuteMs,
          },
        ],
      })),
      { ...destination('limited', {}), rateLimit: 1 },
    ],
    bursts: [{ atMs: 5 * secondMs, calls: 150, perSecond: 2 }],
    faults: [
      {
        atMs: 5 * secondMs,
        kind: 'apply again',
        eachMs: oneOf([250, 1_000, 5_000]),
        forMs: 90 * secondMs,
      },
    ],
  }),
};

function several(
  count: number,
  id: string,
  plan: () => Partial<EndpointPlan>,
): readonly DestinationPlan[] {
  return Array.from({ length: count }, (_, index) => destination(`${id}${index}`, plan()));
}

function destination(id: string, plan: Partial<EndpointPlan>): DestinationPlan {
  return {
    id,
    urls: [
      {
        url: `https://${id}.example/0`,
        latencyMs: [5, 40],
        capacity: 1_000,
        troubles: [],
        goneFromMs: undefined,
        ...plan,
      },
    ],
    maxInFlight: undefined,
    rateLimit: undefined,
  };
}
