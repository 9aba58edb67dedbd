import { simulateFleet } from '../simulation/simulate-fleet.ts';
import type { Fleet, FleetResult } from '../simulation/fleet.ts';
import { summarize, type BenchResult } from './measure.ts';

/** As many processes as a million deliveries a second need, in simulated time: see `growth`. */
export const largestFleet: Fleet = {
  workers: 144,
  routers: 40,
  partitions: 576,
  atATime: 16,
  callsPerSecond: 5,
};

const mostStepMs = 15_000;
/** A session lasts 10 s. */
const mostRecoveryMs = 20_000;
/** While workers are restarted; every event waits for as long as a moved partition is silent. */
const mostWaitMs = 15_000;

export async function benchFleet({
  log = () => undefined,
}: {
  readonly log?: (line: string) => void;
} = {}): Promise<BenchResult[]> {
  const { workers, routers, partitions, atATime, callsPerSecond } = largestFleet;
  log(`${workers} workers and ${partitions} partitions: some minutes`);
  const found = await simulateFleet(largestFleet);
  const perCall = Math.round(1_000_000 / 16 / callsPerSecond).toLocaleString('en-US');
  return [
    {
      name: `fleet: ${workers} workers, ${routers} routers, ${partitions} partitions: events that are lost, or stall`,
      required: `none; a step of a restart within ${seconds(mostStepMs)}, a loss within ${seconds(mostRecoveryMs)}, no event later than ${seconds(mostWaitMs)}`,
      ...summarize([found.lost]),
      passed: isWell(found),
      absolutes: {
        'formed, all started at once': seconds(found.formedMs),
        [`rolling restart, ${atATime} at a time, longest step`]: seconds(found.longestStepMs),
        'rolling restart, all steps': seconds(found.restartedMs),
        'a worker is killed: its partitions are read again after': seconds(found.recoveredMs),
        'longest wait of an event, restart': seconds(found.longestWaitMs.restart),
        'longest wait of an event, kill': seconds(found.longestWaitMs.kill),
        'delivered again, restart': String(found.repeated.restart),
        'delivered again, kill': String(found.repeated.kill),
        'rebalances of the group': String(found.rebalances),
        'turns of the event loop': found.turns.toLocaleString('en-US'),
        'CPU time of the simulation': seconds(found.cpuMs),
      },
      notes: [
        `Each of the ${found.calls.toLocaleString('en-US')} calls, to 16 destinations, stands for ${perCall}. The code of the roles, of the groups and of the producer is that of production; brokers, network and endpoints are in memory, and time is simulated. Kafka itself waits for further members before it forms a new group, 3 s by default, which the simulation doesn't.`,
      ],
    },
  ];
}

function isWell({
  lost,
  longestStepMs,
  recoveredMs,
  longestWaitMs,
  repeated,
}: FleetResult): boolean {
  return (
    lost === 0 &&
    repeated.restart === 0 &&
    longestStepMs <= mostStepMs &&
    recoveredMs <= mostRecoveryMs &&
    Math.max(longestWaitMs.restart, longestWaitMs.kill) <= mostWaitMs
  );
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
