import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../../../src/event/envelope.ts';
import { createKafka, type KafkaClient } from '../../../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../../../src/kafka/produce/producer.ts';
import type { OutgoingRecord } from '../../../../src/kafka/record.ts';
import { silentLogger } from '../../../../src/ops/log.ts';
import { createTopology, type Topology } from '../../../../src/topology.ts';
import { install, type Installation, type RunningRole } from '../../../harness/postrider.ts';
import { roleArgv } from '../measure.ts';
import type { Scene } from './day.ts';
import { startDayEndpoints, type DayEndpoints } from './endpoints.ts';
import { HealthyLoad } from './healthy-load.ts';

export type DayRole = 'gateway' | 'router' | 'delivery';
export const dayRoles: readonly DayRole[] = ['gateway', 'router', 'delivery'];

export interface PlatformOptions {
  readonly replicas?: number;
  readonly partitions?: number;
  /** Of all healthy destinations together. */
  readonly eventsPerSecond?: number;
  /** Deliveries that a worker has in flight at most. */
  readonly slots?: number;
  /** Besides the healthy destinations and their sources. */
  readonly resources?: (endpoints: DayEndpoints) => readonly object[];
  /** Is done before the roles start. */
  readonly prepare?: (platform: Pick<Platform, 'kafka' | 'topology' | 'producer'>) => Promise<void>;
}

/** A whole deployment with healthy destinations, all at one host, which have events all the time. */
export interface Platform {
  readonly postrider: Installation;
  readonly topology: Topology;
  readonly kafka: KafkaClient;
  readonly producer: Producer;
  readonly endpoints: DayEndpoints;
  readonly roles: Readonly<Record<DayRole, RunningRole>>;
  readonly healthy: HealthyLoad;
  /** Starts one process more of a role. */
  start(role: DayRole): Promise<RunningRole>;
  close(): Promise<void>;
}

const healthyDestinations = 40;
const filler = 'x'.repeat(300);

export async function startPlatform(
  scene: Scene,
  options: PlatformOptions = {},
): Promise<Platform> {
  const { brokers, prefix } = scene;
  const { replicas = 1, partitions = 6, eventsPerSecond = 100, slots } = options;
  const postrider = await install({
    KAFKA_BROKERS: brokers.join(','),
    TOPIC_PREFIX: prefix,
    TOPIC_PARTITIONS: String(partitions),
    TOPIC_REPLICATION_FACTOR: String(replicas),
    RETRY_TIERS: '5s,30s,1m,5m',
    RETRY_WINDOW: '4h',
    DELETION_DELAY: '30s',
    NODE_OPTIONS: roleArgv.join(' '),
    ...(slots === undefined ? {} : { DELIVERY_MAX_IN_FLIGHT: String(slots) }),
  });
  const endpoints = await startDayEndpoints();
  await must(postrider, ['topics', '--create']);
  const resources = [...healthyResources(endpoints), ...(options.resources?.(endpoints) ?? [])];
  await must(postrider, ['apply', '-f', '-'], resources);
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  const producer = await createProducer(kafka, { log: silentLogger });
  const topology = createTopology({
    prefix,
    partitions,
    replicationFactor: replicas,
    retryTiersMs: [],
    extraIngestTopics: [],
  });
  await options.prepare?.({ kafka, topology, producer });
  const started: RunningRole[] = [];
  const start = async (role: DayRole): Promise<RunningRole> => {
    const running = await postrider.start(role);
    started.push(running);
    return running;
  };
  const [gateway, router, delivery] = await Promise.all([
    start('gateway'),
    start('router'),
    start('delivery'),
  ]);
  const healthy = new HealthyLoad({
    gatewayUrl: gateway.gatewayUrl,
    writeKeys: healthyIds.map(writeKeyOf),
    eventsPerSecond,
  });
  endpoints.onHealthy = (body) => {
    healthy.arrived(body);
  };
  return {
    postrider,
    topology,
    kafka,
    producer,
    endpoints,
    roles: { gateway, router, delivery },
    healthy,
    start,
    close: async () => {
      await healthy.stop();
      await Promise.all(started.map((role) => role.kill('SIGKILL')));
      await producer.close(1_000);
      endpoints.close();
    },
  };
}

const healthyIds = Array.from({ length: healthyDestinations }, (_, index) => `healthy-${index}`);

function healthyResources(endpoints: DayEndpoints): readonly object[] {
  return healthyIds.flatMap((id) => destinationOf(id, endpoints.url('127.0.0.1', 'healthy')));
}

/** A destination and a source of its own. */
export function destinationOf(id: string, url: string, more: object = {}): readonly object[] {
  return [
    { kind: 'Source', id: `source-${id}`, name: id, writeKeys: [writeKeyOf(id)] },
    {
      kind: 'Destination',
      id,
      name: id,
      sources: [`source-${id}`],
      webhooks: [{ url }],
      ...more,
    },
  ];
}

export function writeKeyOf(id: string): string {
  return `wk-${id}`;
}

/** Runs a command to its end, with resources as its input. */
export async function must(
  postrider: Installation,
  args: readonly string[],
  resources: readonly object[] = [],
): Promise<string> {
  const { code, stdout, stderr } = await postrider.run(args, { stdin: JSON.stringify(resources) });
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return stdout;
}

let written = 0;

/** An event that the router has routed to a destination, of a user who has no other one. */
export function eventFor(
  topic: string,
  destinationId: string,
  messageId = `trouble-${written}`,
): OutgoingRecord {
  const n = written++;
  const envelope = {
    destinationId,
    sourceId: `source-${destinationId}`,
    messageId,
    type: 'track' as const,
    configOffset: 0,
    appendTimeMs: Date.now(),
    attempts: 0,
  };
  return {
    topic,
    key: deliveryKey(destinationId, `user-${n}`),
    value: JSON.stringify({ messageId, filler }),
    headers: { [envelopeHeader]: encodeEnvelope(envelope) },
  };
}

/** The sum of a metric's samples; NaN where there are none. */
export async function metricOf(role: RunningRole, name: string): Promise<number> {
  const text = await (await fetch(`${role.url}/metrics`)).text();
  const samples = text.split('\n').filter((line) => /^\w+/.exec(line)?.[0] === name);
  if (samples.length === 0) return NaN;
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
