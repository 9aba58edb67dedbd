import assert from 'node:assert/strict';
import { startCluster, type DevCluster } from '../../src/dev/broker.ts';
import { startReceiver } from '../../src/dev/receiver.ts';
import { deliveryKey } from '../../src/event/envelope.ts';
import { startCuttingProxies, type CuttingProxies } from '../harness/cutting-proxies.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';
import { extent } from './extent.ts';
import { KafkaView, partitionOfKey } from '../harness/kafka-view.ts';
import type { Call, Ledger } from '../harness/ledger.ts';

const writeKey = 'wk';
const destinationId = 'crm';
const { partitions } = extent;
export const allPartitions: readonly number[] = Array.from({ length: partitions }, (_, n) => n);
const users = Array.from({ length: 1_200 }, (_, n) => `u${n}`);
const retryTiers = ['500ms', '1s'];
/** Long enough that there is always something in flight. */
const answerMs = 10;
/** One in so many events is failed once, so that retry topics have their part in each bad day. */
const failedOnceEvery = 200;

/** In the order in which they are started, and in which they are stopped in turn. */
export const roleNames = ['gateway', 'router-1', 'router-2', 'delivery-1', 'delivery-2'] as const;
export type RoleName = (typeof roleNames)[number];

/** A whole deployment: three brokers, five processes, and one endpoint that counts what it gets. */
export interface Stand {
  readonly cluster: DevCluster;
  readonly proxies: CuttingProxies;
  readonly kafka: KafkaView;
  readonly writeKey: string;
  readonly users: readonly string[];
  readonly gatewayUrl: () => string;
  /** Whom deliveries are reported to from now on. */
  report(ledger: Ledger): void;
  /** Ends a role; its exit code. */
  end(name: RoleName, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
  /** Starts one that has ended; `through` says how it reaches Kafka. */
  start(name: RoleName, through?: 'proxies'): Promise<void>;
  /** All that was written has been read, delivered and committed, and every replica has it. */
  atRest(): Promise<void>;
  close(): Promise<void>;
}

export async function startStand(): Promise<Stand> {
  const proxies = await startCuttingProxies(3);
  const cluster = await startCluster(3, { proxyPorts: proxies.ports });
  proxies.passTo(cluster.behindProxies);
  // For a file that is run alone: there is no need of one more broker.
  process.env['KAFKA_BROKERS'] ??= cluster.brokers.join(',');
  const [received, report] = countingEndpoint();
  const receiver = await startReceiver({ port: 0, answer: received });
  const postrider = await install({
    KAFKA_BROKERS: cluster.brokers.join(','),
    TOPIC_PARTITIONS: String(partitions),
    TOPIC_REPLICATION_FACTOR: '3',
    RETRY_TIERS: retryTiers.join(','),
  });
  await prepare(postrider, receiver.url);
  const kafka = new KafkaView(cluster.brokers, postrider.environment['TOPIC_PREFIX'] ?? '');
  const roles = new Map<RoleName, RunningRole>();
  const start: Stand['start'] = async (name, through) => {
    const [role] = name.split('-') as ['gateway' | 'router' | 'delivery'];
    const brokers = through === 'proxies' ? proxies.addresses : cluster.brokers;
    roles.set(name, await postrider.start(role, { KAFKA_BROKERS: brokers.join(',') }));
  };
  await Promise.all(roleNames.map((name) => start(name)));
  return {
    cluster,
    proxies,
    kafka,
    writeKey,
    users,
    gatewayUrl: () => roles.get('gateway')?.gatewayUrl ?? '',
    report,
    end: async (name, signal) => (await roles.get(name)?.kill(signal)) ?? null,
    start,
    atRest: async () => {
      await kafka.allCommitted('router', ['ingest']);
      await kafka.allCommitted('delivery', [
        'delivery',
        ...retryTiers.map((tier) => `retry.${tier}`),
      ]);
      await kafka.allInSync();
    },
    close: async () => {
      await Promise.all([...roles.values()].map((role) => role.kill('SIGKILL')));
      await receiver.close();
      await proxies.close();
      await cluster.stop();
    },
  };
}

async function prepare(postrider: Installation, url: string): Promise<void> {
  const created = await postrider.run(['topics', '--create']);
  assert.equal(created.code, 0, created.stderr);
  const stdin = JSON.stringify([
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: [writeKey] },
    {
      kind: 'Destination',
      id: destinationId,
      name: 'CRM',
      sources: ['shop'],
      webhooks: [{ url }],
      idempotencyHeader: 'Idempotency-Key',
    },
  ]);
  const applied = await postrider.run(['apply', '-f', '-'], { stdin });
  assert.equal(applied.code, 0, applied.stderr);
}

type Answer = Parameters<typeof startReceiver>[0]['answer'];

/** Its answers, and who says to whom it reports. */
function countingEndpoint(): [Answer, (ledger: Ledger) => void] {
  const failed = new Set<string>();
  const ledgers = new Set<Ledger>();
  let arrivals = 0;
  const answer: Answer = ({ headers }) => {
    const id = String(headers['idempotency-key']);
    arrivals += 1;
    if (arrivals % failedOnceEvery === 0 && !failed.has(id)) {
      failed.add(id);
      return { status: 503 };
    }
    for (const ledger of ledgers) ledger.delivered(id, performance.now());
    return { status: 200, delayMs: answerMs };
  };
  // Former ones are still reported to: what is repeated may be so late.
  return [answer, (ledger) => ledgers.add(ledger)];
}

/** By user. */
const ingestPartitions = new Map(users.map((user) => [user, partitionOfKey(user, partitions)]));
const deliveryPartitions = new Map(
  users.map((user) => [user, partitionOfKey(deliveryKey(destinationId, user), partitions)]),
);

export function ingestPartition({ user }: Pick<Call, 'user'>): number {
  return ingestPartitions.get(user) ?? NaN;
}

export function deliveryPartition({ user }: Pick<Call, 'user'>): number {
  return deliveryPartitions.get(user) ?? NaN;
}

export interface Watched {
  readonly group: string;
  /** One that the group reads. */
  readonly topic: string;
  /** Where a call is in that topic. */
  readonly partitionOf: (call: Call) => number;
}

/** Undefined for a gateway, which reads nothing. */
export function watchedOf(name: RoleName): Watched | undefined {
  if (name.startsWith('router'))
    return { group: 'router', topic: 'ingest', partitionOf: ingestPartition };
  if (name.startsWith('delivery'))
    return { group: 'delivery', topic: 'delivery', partitionOf: deliveryPartition };
  return undefined;
}
