import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { ensureTopics } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { settingsTable } from '../../../src/settings/table.ts';
import { destinationId, eventRecord, loadTopology } from './delivery-load.ts';
import { firstLine } from './measure.ts';
import { originHost, startStandRole, workOf, type RoleWork } from './stand.ts';

/** A deployment of which one thing differs from others. */
export interface GrowthPoint {
  readonly workers: number;
  readonly partitions: number;
  readonly destinations: number;
  /** Among which the destinations are spread. */
  readonly hosts: number;
  readonly bodyBytes: number;
  readonly answerMs: number;
}

/** A deployment that runs: idle unless it is measured. */
export interface GrowthStand {
  /** Writes so many events at once, and resolves with what delivering them took. */
  burst(events: number): Promise<RoleWork>;
  /** The same with events at a steady rate. */
  steadily(perSecond: number, seconds: number): Promise<RoleWork>;
  /** What its roles take while nothing is to be delivered. */
  rest(seconds: number): Promise<RoleWork>;
  stop(): Promise<void>;
}

export interface GrowthStandOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly point: GrowthPoint;
  readonly receiverPort: number;
  /** In place of the delivery role. */
  readonly script?: string | undefined;
}

/** As in production. */
const retryTiersMs = settingsTable.retryTiersMs.fallback;
const maxInFlight = settingsTable.deliveryMaxInFlight.fallback;
const chunk = 5_000;
const lookMs = 50;
const stepMs = 1;
/** Until every worker has delivered some of a burst. */
const mostWarmUps = 40;
/** V8 has compiled what runs often by then. */
const warmUpEvents = 30_000;
const warmUpBytes = 64_000_000;
const shareEvents = 2_000;

/** The endpoints of all stands. */
export async function startReceiver(): Promise<{ readonly port: number; close(): void }> {
  const child = fork(new URL('growth-receiver.ts', import.meta.url), {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const port = Number(await firstLine(child));
  return {
    port,
    close: () => {
      child.disconnect();
    },
  };
}

/** Resolves when all workers have their partitions, and each destination has had an event. */
export async function buildGrowthStand(options: GrowthStandOptions): Promise<GrowthStand> {
  const { brokers, prefix, point, receiverPort, script } = options;
  const { partitions, destinations, hosts, answerMs } = point;
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  const shape = { partitions, retryTiersMs };
  const topology = loadTopology(prefix, shape);
  const used = new Set(topology.usedBy.delivery);
  await ensureTopics(
    kafka,
    topology.all.filter(({ name }) => used.has(name)),
  );
  const producer = await createProducer(kafka, { log: silentLogger });
  const roles = await Promise.all(
    Array.from({ length: point.workers }, () =>
      startStandRole(
        {
          brokers,
          prefix,
          maxInFlight,
          topology: shape,
          destinations: Array.from({ length: destinations }, (_, index) => ({
            id: destinationId(index),
            url: `http://${originHost(index % hosts)}:${receiverPort}/${answerMs}/${destinationId(index)}`,
          })),
        },
        script,
      ),
    ),
  );
  let written = 0;
  const make = (): OutgoingRecord => eventOf(topology.topics.delivery, point, written++);
  const cost = async (write: () => Promise<void>): Promise<RoleWork> => {
    const before = await workOfAll(roles);
    const writtenBefore = written;
    await write();
    const wanted = before.delivered + written - writtenBefore;
    for (;;) {
      const after = await workOfAll(roles);
      if (after.delivered >= wanted) return difference(before, after);
      await delay(lookMs);
    }
  };
  const burst = (events: number): Promise<RoleWork> =>
    cost(async () => {
      for (let left = events; left > 0; left -= chunk)
        await producer.send(Array.from({ length: Math.min(chunk, left) }, make));
    });
  await warmUp(
    roles,
    burst,
    Math.max(destinations, Math.min(warmUpEvents, warmUpBytes / point.bodyBytes)),
  );
  return {
    burst,
    steadily: (perSecond, seconds) =>
      cost(async () => {
        const startedMs = performance.now();
        for (let sent = 0; sent < perSecond * seconds;) {
          const due = ((performance.now() - startedMs) / 1_000) * perSecond;
          for (; sent < due; sent += 1) producer.produce(make(), () => undefined);
          await delay(stepMs);
        }
      }),
    rest: async (seconds) => {
      const before = await workOfAll(roles);
      await delay(seconds * 1_000);
      return difference(before, await workOfAll(roles));
    },
    stop: async () => {
      for (const role of roles) role.disconnect();
      for (const role of roles) if (role.exitCode === null) await once(role, 'exit');
      await producer.close(5_000);
    },
  };
}

/** A group that has just formed gives its partitions to its members one after the other. */
async function warmUp(
  roles: readonly ChildProcess[],
  burst: (events: number) => Promise<RoleWork>,
  events: number,
): Promise<void> {
  await burst(Math.ceil(events));
  for (let times = 0; times < mostWarmUps; times += 1) {
    const before = await Promise.all(roles.map((role) => workOf(role)));
    await burst(shareEvents);
    const after = await Promise.all(roles.map((role) => workOf(role)));
    if (after.every(({ delivered }, index) => delivered > (before[index]?.delivered ?? 0))) return;
    await delay(500);
  }
  throw new Error('a worker got no partition');
}

async function workOfAll(roles: readonly ChildProcess[]): Promise<RoleWork> {
  const all = await Promise.all(roles.map((role) => workOf(role)));
  return {
    delivered: all.reduce((sum, { delivered }) => sum + delivered, 0),
    cpuUs: all.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
  };
}

function difference(before: RoleWork, after: RoleWork): RoleWork {
  return {
    delivered: after.delivered - before.delivered,
    cpuUs: after.cpuUs - before.cpuUs,
  };
}

/** The event with that number. */
function eventOf(
  topic: string,
  { destinations, bodyBytes }: GrowthPoint,
  n: number,
): OutgoingRecord {
  const filler = fillerOf(bodyBytes - besideFiller);
  return eventRecord(topic, destinationId(n % destinations), n, { filler });
}

/** Bytes of a body, but for the digits of its user's number. */
const besideFiller = eventRecord('', '', 0, { filler: '' }).value.length;

/** What is the same in many events. */
const context =
  '"userAgent":"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0","locale":"en-GB","timezone":"Europe/London","page":"https://shop.example/checkout/thanks","library":{"name":"client","version":"1.0.0"},';

/** Half of it random digits, which compress to half as real values do. */
function fillerOf(bytes: number): string {
  const half = Math.max(0, bytes >> 1);
  const digits = randomBytes((half + 1) >> 1)
    .toString('hex')
    .slice(0, half);
  return digits + context.repeat(Math.ceil(half / context.length)).slice(0, half);
}
