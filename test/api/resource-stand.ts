import type { FastifyInstance } from 'fastify';
import { ApiRuns } from '../../src/api/api-runs.ts';
import { ChangeQueue } from '../../src/api/change-queue.ts';
import { Directory } from '../../src/api/directory.ts';
import { addLinkRoutes } from '../../src/api/routes/links.ts';
import { addOperationRoutes } from '../../src/api/routes/operations.ts';
import { addRedriveRoutes } from '../../src/api/routes/redrives.ts';
import { addResourceRoutes } from '../../src/api/routes/resources.ts';
import { addUserRoutes } from '../../src/api/routes/users.ts';
import { ToldRuns } from '../../src/api/told-runs.ts';
import type { Unwritten } from '../../src/http-api/audit-writer.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import type { LetterChoice, Operations, Work } from '../../src/operations/operations.ts';
import { Runs } from '../../src/operations/runs.ts';
import { newIdentity } from '../../src/resources/apply/identities.ts';
import type { FollowedResources } from '../../src/resources/config/config-topic.ts';
import type {
  ConfigRecord,
  ConfigWriter,
  Decision,
} from '../../src/resources/config/config-writer.ts';
import { encodeResource, recordKey } from '../../src/resources/config/stored.ts';
import { decodeStored, type StoredResource } from '../../src/resources/config/stored-resources.ts';
import { Pauses } from '../../src/resources/pauses/pauses.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { Reports } from '../../src/status/reports.ts';
import { createTopology } from '../../src/topology.ts';
import { exampleBounds, exampleKeys } from '../resources/examples.ts';
import type { ApiStand } from './stand.ts';

/** What the API's routes have at hand, without Kafka: what they would have written, or had done, is here. */
export interface ResourceStand {
  /** The records of `config`, by key. */
  readonly config: Map<string, string>;
  /** What the audit was told, in its order. */
  readonly audit: Unwritten[];
  /** Operations that were begun, e.g. `pause crm`. */
  readonly operated: string[];
  /** The choices of redrives, and what was counted. */
  readonly chosen: LetterChoice[];
  /** Records of other topics than `config` and `audit`. */
  readonly sent: OutgoingRecord[];
  readonly reports: Reports;
  readonly pauses: Pauses;
  /** Runs that the audit tells of. */
  readonly told: ToldRuns;
  /** Fails what is asked for next. */
  failure: Error | undefined;
  /** Operations end no earlier. */
  until: Promise<unknown>;
  put(resource: Resource): void;
  remove(key: string): void;
}

export function resourceRoutes(): {
  readonly stand: ResourceStand;
  readonly routes: (api: FastifyInstance, parts: Pick<ApiStand, 'links' | 'clock'>) => void;
} {
  const config = new Map<string, string>();
  const decoded = new Map<string, StoredResource>();
  const listeners: ((key: string) => void)[] = [];
  const write = ({ key, value }: ConfigRecord): void => {
    const stored = value === null ? undefined : decodeStored(key, value);
    if (value === null || stored === undefined) {
      config.delete(key);
      decoded.delete(key);
    } else {
      config.set(key, value);
      decoded.set(key, stored);
    }
    for (const listener of listeners) listener(key);
  };
  const stand: ResourceStand = {
    config,
    audit: [],
    operated: [],
    chosen: [],
    sent: [],
    reports: new Reports(),
    pauses: new Pauses(),
    told: new ToldRuns(),
    failure: undefined,
    until: Promise.resolve(),
    put: (resource) => {
      write({ key: recordKey(resource), value: encodeResource(resource, exampleKeys) });
    },
    remove: (key) => {
      write({ key, value: null });
    },
  };
  let entries = 0;
  const audit = {
    write: (entry: Unwritten) => {
      stand.audit.push(entry);
      return Promise.resolve(`entry-${(entries += 1)}`);
    },
    tell: (entry: Unwritten) => void stand.audit.push(entry),
  };
  const producer = {
    send: (records: readonly OutgoingRecord[]) => {
      stand.sent.push(...records);
      return Promise.resolve();
    },
  };
  const followed = {
    resources: decoded,
    onChange: (listener: (key: string) => void) => void listeners.push(listener),
  } as unknown as FollowedResources;
  const writer = {
    hold: () => Promise.resolve(),
    change: async (decide: () => Decision<unknown> | Promise<Decision<unknown>>) => {
      const { records, result, before } = await decide();
      if (records.length > 0) await before?.();
      records.forEach(write);
      return { result, offset: config.size };
    },
  } as unknown as ConfigWriter;
  const done = async (what: string): Promise<readonly []> => {
    stand.operated.push(what);
    await stand.until;
    if (stand.failure !== undefined) throw stand.failure;
    return [];
  };
  const chosen =
    (what: string) =>
    (choice: LetterChoice): Work => {
      stand.chosen.push(choice);
      return async ({ onSent }) => {
        onSent();
        await done(`${what} ${choice.destination ?? choice.customer ?? 'all'}`);
        return { detail: 'left out for an operator to read' };
      };
    };
  const operations: Operations = {
    sendTest: (id) => done(`test ${id}`),
    retry: (id) => done(`retry ${id}`),
    pause: async (id) => {
      await done(`pause ${id}`);
    },
    resume: (id) => async () => {
      await done(`resume ${id}`);
      return {};
    },
    redrive: chosen('redrive'),
    count: chosen('count'),
    redriveCalls: () => () => done('calls').then(() => ({})),
    countCalls: () => () => done('calls').then(() => ({})),
  };
  const topology = createTopology({
    prefix: '',
    partitions: 1,
    replicationFactor: 1,
    retryTiersMs: [],
    extraIngestTopics: [],
  });
  return {
    stand,
    routes: (api, { links, clock }) => {
      const directory = new Directory(followed);
      const queue = new ChangeQueue({
        kafka: undefined as never,
        topology,
        writer,
        producer,
        audit,
        onWritten: () => undefined,
      });
      addResourceRoutes(api, {
        directory,
        queue,
        planning: () => ({
          plan: {
            ...exampleBounds,
            nowMs: clock.now(),
            secretKeys: exampleKeys,
            identityOf: newIdentity,
          },
          customers: { mostDestinations: 20, sources: [] },
        }),
        fresh: () => Promise.resolve(),
        states: { known: () => Promise.resolve(stand), soon: () => Promise.resolve(stand) },
        nowMs: () => clock.now(),
        requireAddresses: () => Promise.resolve(),
      });
      const counts = new Runs(clock);
      const runs = new ApiRuns(counts, stand.told, audit);
      const customerOf = (id: string): ReturnType<Directory['customerOf']> =>
        directory.customerOf(id);
      addOperationRoutes(api, { operations, runs, audit, clock, customerOf });
      addRedriveRoutes(api, { operations, runs, counts, directory });
      const users = {
        deleteUser: (user: string) => ({
          affected: [],
          work: () => done(`delete-user ${user}`).then(() => ({})),
        }),
        suppress: async (user: string) => {
          await done(`suppress ${user}`);
        },
      };
      addUserRoutes(api, { users, runs, audit });
      addLinkRoutes(api, {
        links: () => links,
        audit,
        producer,
        topic: 'links',
        clock,
        consoleUrl: 'https://console.shop.example',
      });
    },
  };
}
