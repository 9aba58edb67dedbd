import { endpointIds } from './endpoint-kinds.ts';
import { waysToBeDown } from './endpoints.ts';
import { nameServerFaults } from './name-server.ts';
import { networkFaults, type NetworkFault } from '../../harness/network-link.ts';
import type { Random } from './random.ts';
import { nodeIds, type PlacedRole, type Stand } from './stand.ts';

/** A fault that has begun. */
export interface Begun {
  /** What was hit, and how. */
  readonly what: string;
  /** The endpoints that it is about: nothing is asked of them until it has been mended. */
  readonly troubled?: readonly string[];
  /** The audience sync that runs meanwhile is killed so long after its start. */
  readonly killSyncAfterMs?: number;
  mend(): Promise<void> | void;
}

export type MayRepeat = 'nothing' | 'in flight' | 'a session';

export interface Fault {
  readonly name: string;
  /** For the report. */
  readonly does: string;
  /** Least and most time from its beginning until it is mended. */
  readonly holdMs: readonly [least: number, most: number];
  /**
   * Whether it keeps events from being routed or delivered: then those wait as long as it takes. Else no
   * healthy endpoint may notice it.
   */
  readonly stopsEvents: boolean;
  /**
   * What may be delivered again, at endpoints that the fault is not about: nothing, what was in flight in a
   * process that lost its work, or what was done in one session with a group whose coordinator was away.
   */
  readonly mayRepeat: MayRepeat;
  /** Why it cannot happen on this machine; undefined: it can. */
  readonly missing?: (stand: Stand) => string | undefined;
  readonly begin: (stand: Stand, random: Random) => Promise<Begun> | Begun;
}

const s = 1_000;

/** One that runs now. */
function someRole({ roles }: Stand, random: Random): PlacedRole {
  return random.pick(roles.filter(({ running }) => running !== undefined));
}

/** One broker is away from every client, or one role from every broker. */
function breakKafkaNetwork(fault: NetworkFault, stand: Stand, random: Random): Begun {
  const { brokerLinks } = stand;
  const placed = stand.roles.filter(({ address }) => address !== undefined);
  if (placed.length > 0 && random.chance(0.5)) {
    const { name, address } = random.pick(placed);
    for (const link of brokerLinks) link.set(fault, address);
    return {
      what: `${name} and all brokers: ${fault}`,
      mend: () => {
        for (const link of brokerLinks) link.set(undefined, address);
      },
    };
  }
  const nodeId = random.pick(nodeIds);
  const link = brokerLinks[nodeId - 1];
  link?.set(fault);
  return { what: `broker ${nodeId} and all roles: ${fault}`, mend: () => link?.set(undefined) };
}

const disksMissing = ({ brokerDisks }: Stand): string | undefined =>
  brokerDisks === undefined ? 'mounting a disk needs Linux and root' : undefined;

const kafkaNetworkFaults: readonly Fault[] = networkFaults.map((fault) => ({
  name: `kafka-network-${fault}`,
  does: {
    cut: 'A broker, or a role, is cut off: connections between brokers and roles are reset.',
    stalled: 'A broker, or a role, is cut off: nothing passes until the network is mended.',
    'half-open':
      'A broker, or a role, is cut off: what is sent is lost, and so is each connection.',
    slow: 'A fifth of a second is added to each way between a broker, or a role, and the rest.',
  }[fault],
  holdMs: [8 * s, 25 * s],
  stopsEvents: true,
  mayRepeat: 'a session',
  begin: (stand, random) => breakKafkaNetwork(fault, stand, random),
}));

const endpointNetworkFaults: readonly Fault[] = networkFaults.map((fault) => ({
  name: `endpoint-network-${fault}`,
  does: {
    cut: 'Connections to one endpoint are reset.',
    stalled: 'Nothing passes between one endpoint and the workers until the network is mended.',
    'half-open': 'What one endpoint and the workers send each other is lost.',
    slow: 'A fifth of a second is added to each way to one endpoint.',
  }[fault],
  holdMs: [8 * s, 20 * s],
  stopsEvents: false,
  mayRepeat: 'nothing',
  begin: ({ endpoints }, random) => {
    const id = random.pick(endpointIds);
    endpoints.linkTo(id).set(fault);
    return {
      what: `endpoint ${id}: ${fault}`,
      troubled: [id],
      mend: () => {
        endpoints.linkTo(id).set(undefined);
      },
    };
  },
}));

export const faults: readonly Fault[] = [
  {
    name: 'role-killed',
    does: 'A gateway, router, delivery worker or console gets SIGKILL, and is started again.',
    holdMs: [5 * s, 10 * s],
    stopsEvents: true,
    mayRepeat: 'in flight',
    begin: (stand, random) => {
      const role = someRole(stand, random);
      role.kill();
      return { what: role.name, mend: () => undefined };
    },
  },
  {
    name: 'role-hangs',
    does: 'A gateway, router, delivery worker or console gets SIGSTOP, and later SIGCONT.',
    holdMs: [5 * s, 25 * s],
    stopsEvents: true,
    mayRepeat: 'in flight',
    begin: (stand, random) => {
      const { name, running } = someRole(stand, random);
      running?.hang();
      return { what: name, mend: () => running?.resume() };
    },
  },
  {
    name: 'broker-killed',
    does: 'A broker gets SIGKILL, and is started again.',
    holdMs: [5 * s, 15 * s],
    stopsEvents: true,
    mayRepeat: 'nothing',
    begin: async ({ cluster }, random) => {
      const nodeId = random.pick(nodeIds);
      await cluster.kill(nodeId);
      return { what: `broker ${nodeId}`, mend: () => cluster.start(nodeId) };
    },
  },
  {
    name: 'brokers-restarted',
    does: 'All brokers are restarted one after the other, as for an upgrade of Kafka.',
    holdMs: [1 * s, 2 * s],
    stopsEvents: false,
    mayRepeat: 'nothing',
    begin: async ({ cluster, kafka }, random) => {
      const inTurn = random.shuffled(nodeIds);
      for (const nodeId of inTurn) {
        await cluster.restart(nodeId);
        await kafka.allInSync();
      }
      return { what: `brokers ${inTurn.join(', ')}`, mend: () => undefined };
    },
  },
  {
    name: 'broker-hangs',
    does: 'A broker gets SIGSTOP, and later SIGCONT.',
    holdMs: [8 * s, 25 * s],
    stopsEvents: true,
    mayRepeat: 'nothing',
    begin: ({ cluster }, random) => {
      const nodeId = random.pick(nodeIds);
      cluster.hang(nodeId);
      return {
        what: `broker ${nodeId}`,
        mend: () => {
          cluster.resume(nodeId);
        },
      };
    },
  },
  {
    name: 'two-brokers-killed',
    does: 'Two of three brokers get SIGKILL, and are started again: meanwhile everything waits.',
    holdMs: [8 * s, 20 * s],
    stopsEvents: true,
    mayRepeat: 'a session',
    begin: async ({ cluster }, random) => {
      const left = random.pick(nodeIds);
      const two = nodeIds.filter((nodeId) => nodeId !== left);
      await Promise.all(two.map((nodeId) => cluster.kill(nodeId)));
      return {
        what: `brokers ${two.join(' and ')}`,
        mend: async () => {
          await Promise.all(two.map((nodeId) => cluster.start(nodeId)));
        },
      };
    },
  },
  {
    name: 'broker-disk-full',
    does: 'The disk of a broker is full. Later it has room again, and the broker is started again.',
    holdMs: [10 * s, 20 * s],
    stopsEvents: true,
    mayRepeat: 'nothing',
    missing: disksMissing,
    begin: async ({ cluster, brokerDisks = [] }, random) => {
      const nodeId = random.pick(nodeIds);
      const disk = brokerDisks[nodeId - 1];
      await disk?.fill();
      return {
        what: `broker ${nodeId}`,
        mend: async () => {
          await disk?.mend();
          // It has ended by itself, unless nothing was written to its disk.
          await cluster.kill(nodeId);
          await cluster.start(nodeId);
        },
      };
    },
  },
  {
    name: 'console-disk-full',
    does: "The disk of the console's index is full.",
    holdMs: [10 * s, 20 * s],
    stopsEvents: false,
    mayRepeat: 'nothing',
    missing: disksMissing,
    begin: async ({ consoleDisk }) => {
      await consoleDisk?.fill();
      return { what: 'the console', mend: () => consoleDisk?.mend() };
    },
  },
  ...kafkaNetworkFaults,
  ...endpointNetworkFaults,
  {
    name: 'endpoint-down',
    does: 'An endpoint answers 503, does not answer, or ends each connection.',
    holdMs: [10 * s, 25 * s],
    stopsEvents: false,
    mayRepeat: 'nothing',
    begin: ({ endpoints }, random) => {
      const id = random.pick(endpointIds);
      const way = random.pick(waysToBeDown);
      endpoints.setDown(id, way);
      return {
        what: `endpoint ${id} ${way}`,
        troubled: [id],
        mend: () => {
          endpoints.setDown(id, undefined);
        },
      };
    },
  },
  {
    name: 'registry-hangs',
    does: 'The schema registry does not answer, while calls come with a schema that nobody has read.',
    holdMs: [10 * s, 20 * s],
    stopsEvents: true,
    mayRepeat: 'nothing',
    begin: async ({ registryLink, typedCalls }, random) => {
      const fault = random.pick(['stalled', 'half-open'] as const);
      registryLink.set(fault);
      await typedCalls.useNewSchema();
      return {
        what: fault,
        mend: () => {
          registryLink.set(undefined);
        },
      };
    },
  },
  {
    name: 'name-server-fails',
    does: 'The name server does not answer, or answers what is wrong.',
    // Answers are kept for 30 s.
    holdMs: [35 * s, 45 * s],
    stopsEvents: false,
    mayRepeat: 'nothing',
    begin: ({ nameServer }, random) => {
      const fault = random.pick(nameServerFaults);
      nameServer.set(fault);
      return {
        what: fault,
        troubled: ['named'],
        mend: () => {
          nameServer.set(undefined);
        },
      };
    },
  },
  {
    name: 'sync-killed',
    does: 'An audience sync gets SIGKILL, and is run again.',
    holdMs: [5 * s, 8 * s],
    stopsEvents: false,
    mayRepeat: 'in flight',
    begin: (_stand, random) => {
      const killSyncAfterMs = random.between(500, 4_000);
      return {
        what: `after ${killSyncAfterMs} ms`,
        killSyncAfterMs,
        mend: () => undefined,
      };
    },
  },
];
