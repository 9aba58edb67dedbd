import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { ensureTopics } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { tuneGarbageCollection } from '../../../src/ops/process.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { loadTopology, type LoadTopology } from './delivery-load.ts';
import { firstLine, roleArgv } from './measure.ts';
import { startEndpoints } from './stand-endpoints.ts';
import { Arrivals, picker, produceSteadily, type StandDestination } from './stand-load.ts';

/** What the role's process is told. */
export interface StandRole {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly maxInFlight: number;
  readonly destinations: readonly { readonly id: string; readonly url: string }[];
  readonly topology?: LoadTopology;
}

export type RoleQuestion = 'work' | 'memory';

/** What the role's process has done so far. */
export interface RoleWork {
  readonly delivered: number;
  readonly cpuUs: number;
}

export interface StandOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly destinations: readonly StandDestination[];
  readonly maxInFlight: number;
}

/** A delivery role in a process of its own, endpoints with an origin each, and events at a steady rate. */
export interface Stand {
  /** For so long; what has not arrived then goes on arriving. */
  produce(eventsPerSecond: number, seconds: number, maxAwaited?: number): Promise<void>;
  /** From produce to arrival at healthy endpoints, of what was produced since the last call. */
  takeLatenciesMs(): number[];
  /** Produced for healthy endpoints and not arrived. */
  readonly awaited: number;
  work(): Promise<RoleWork>;
  /** After a collection: objects and what they hold outside the heap. */
  heldBytes(): Promise<number>;
  stop(): Promise<void>;
}

export async function buildStand(options: StandOptions): Promise<Stand> {
  // Producer and endpoints are here: their pauses would count as the role's.
  tuneGarbageCollection();
  const { brokers, prefix, destinations, maxInFlight } = options;
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  const { all, topics } = loadTopology(prefix);
  await ensureTopics(kafka, all);
  const producer = await createProducer(kafka, { log: silentLogger });
  const arrivals = new Arrivals();
  const endpoints = await startEndpoints((n) => {
    arrivals.arrived(n);
  });
  const role = await startStandRole({
    brokers,
    prefix,
    maxInFlight,
    destinations: destinations.map(({ id, behaviour }, index) => ({
      id,
      url: `http://${originHost(index)}:${endpoints.port}/${behaviour}`,
    })),
  });
  const pick = picker(destinations);
  return {
    produce: (eventsPerSecond, seconds, maxAwaited) =>
      produceSteadily(producer, {
        topic: topics.delivery,
        pick,
        arrivals,
        eventsPerSecond,
        seconds,
        maxAwaited,
      }),
    takeLatenciesMs: () => arrivals.take(),
    get awaited() {
      return arrivals.awaited;
    },
    work: () => workOf(role),
    heldBytes: async () => (await ask(role, 'memory')) as number,
    stop: async () => {
      role.disconnect();
      if (role.exitCode === null) await once(role, 'exit');
      await producer.close(5_000);
      endpoints.close();
    },
  };
}

/** Every loopback address is an origin of its own. */
export function originHost(index: number): string {
  return `127.1.${index >> 8}.${index & 255}`;
}

/** @param script that does what `stand-role.ts` is told and asked */
export async function startStandRole(
  load: StandRole,
  script = 'stand-role.ts',
): Promise<ChildProcess> {
  const child = fork(new URL(script, import.meta.url), {
    execArgv: [...roleArgv, '--expose-gc'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  child.send(load);
  await firstLine(child);
  return child;
}

export async function workOf(role: ChildProcess): Promise<RoleWork> {
  return (await ask(role, 'work')) as RoleWork;
}

async function ask(role: ChildProcess, question: RoleQuestion): Promise<unknown> {
  role.send(question);
  const [answer] = (await once(role, 'message')) as [unknown];
  return answer;
}
