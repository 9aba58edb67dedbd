import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster, type DevCluster } from '../../../src/dev/broker.ts';
import { createKafka, type KafkaClient } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import type { RoleName } from '../../../src/topology.ts';
import { KafkaView } from '../../harness/kafka-view.ts';
import { startNetworkLink, type NetworkLink } from '../../harness/network-link.ts';
import { install, type Installation } from '../../harness/postrider.ts';
import { startRegistry } from '../../harness/registry.ts';
import type { Accounts } from './accounts.ts';
import {
  audienceDestination,
  audienceId,
  membersFile,
  startAudienceSyncs,
  type AudienceSyncs,
} from './audience-syncs.ts';
import { endpointKinds } from './endpoint-kinds.ts';
import { audienceTrait, sharedSecret, startEndpoints, type Endpoints } from './endpoints.ts';
import { startLoad, type Load } from './load.ts';
import { startNameServer, type SoakNameServer } from './name-server.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';
import { superviseRole, type SupervisedRole } from './supervised-role.ts';
import { startTypedCalls, type TypedCalls } from './typed-calls.ts';

const writeKey = 'wk';
export const retryTiers = ['500ms', '1s', '5s'] as const;
export const inFlightPerDestination = 16;
export const nodeIds = [1, 2, 3] as const;
const roleNames = [
  'gateway-1',
  'gateway-2',
  'router-1',
  'router-2',
  'delivery-1',
  'delivery-2',
  'console',
];

/** A role with the address of loopback that its connections come from, if the machine has such. */
export interface PlacedRole extends SupervisedRole {
  readonly address: string | undefined;
}

/** A whole deployment, with something between any two of its parts that can fail. */
export interface Stand {
  readonly postrider: Installation;
  readonly cluster: DevCluster;
  readonly kafka: KafkaView;
  /** Asked directly, not through the links. */
  readonly client: KafkaClient;
  readonly roles: readonly PlacedRole[];
  readonly endpoints: Endpoints;
  readonly nameServer: SoakNameServer;
  readonly typedCalls: TypedCalls;
  readonly syncs: AudienceSyncs;
  /** Between clients and the brokers, in the order of `nodeIds`. */
  readonly brokerLinks: readonly NetworkLink[];
  readonly registryLink: NetworkLink;
  /** Undefined where this process may not mount. In the order of `nodeIds`. */
  readonly brokerDisks: readonly SmallDisk[] | undefined;
  readonly consoleDisk: SmallDisk | undefined;
  /** A load whose accounts hear of deliveries from now on. */
  startLoad(accounts: Accounts): Load;
  close(): Promise<void>;
}

/** @throws Error whatever keeps a part from starting; what had started is ended then */
export async function startStand(): Promise<Stand> {
  const closing: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const end of closing.splice(0).reverse()) await end();
  };
  // Roles and mounted disks would outlive this process.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void close().finally(() => process.exit(1)));
  try {
    return { ...(await startParts((end) => closing.push(end))), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startParts(
  atEnd: (end: () => Promise<void> | void) => void,
): Promise<Omit<Stand, 'close'>> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-soak-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  const diskAt = async (path: string): Promise<SmallDisk | undefined> => {
    const disk = await mountSmallDisk(path);
    if (disk !== undefined) atEnd(() => disk.unmount());
    return disk;
  };
  const kafkaFolder = join(folder, 'kafka');
  const disks = await Promise.all(
    nodeIds.map((nodeId) => diskAt(join(kafkaFolder, `node-${nodeId}`, 'data'))),
  );
  const consoleFolder = join(folder, 'console');
  const consoleDisk = await diskAt(consoleFolder);

  const brokerLinks = await Promise.all(nodeIds.map(startNetworkLink));
  for (const link of brokerLinks) atEnd(() => link.close());
  const proxyPorts = brokerLinks.map(({ port }) => port);
  const cluster = await startCluster(nodeIds.length, { dataDir: kafkaFolder, proxyPorts });
  atEnd(() => cluster.stop());
  for (const [index, address] of cluster.behindProxies.entries())
    brokerLinks[index]?.leadTo(Number(address.split(':')[1]));
  // Otherwise the harness would start one more broker.
  process.env['KAFKA_BROKERS'] ??= cluster.brokers.join(',');

  const nameServer = await startNameServer();
  atEnd(() => {
    nameServer.close();
  });
  const registry = await startRegistry();
  atEnd(() => registry.stop());
  const registryLink = await startNetworkLink();
  atEnd(() => registryLink.close());
  registryLink.leadTo(Number(new URL(registry.url).port));
  const heard = new Set<Accounts>();
  const endpoints = await startEndpoints((destinationId, key) => {
    for (const accounts of heard) accounts.delivered(destinationId, key, performance.now());
  });
  atEnd(() => endpoints.close());
  const authorityFile = join(folder, 'authority.pem');
  await writeFile(authorityFile, endpoints.authority);
  const listFolder = join(folder, 'lists');
  await mkdir(listFolder);

  const brokers = proxyPorts.map((port) => `127.0.0.1:${port}`);
  const postrider = await install({
    KAFKA_BROKERS: brokers.join(','),
    TOPIC_PARTITIONS: '6',
    TOPIC_REPLICATION_FACTOR: '3',
    RETRY_TIERS: retryTiers.join(','),
    // All endpoints are one process, which must not be flooded when a fault has ended.
    DELIVERY_MAX_IN_FLIGHT_PER_DESTINATION: String(inFlightPerDestination),
    SCHEMA_REGISTRY_URL: `http://127.0.0.1:${registryLink.port}`,
    AUDIENCE_FILES_DIR: listFolder,
    AUDIENCE_CHECKPOINT_DIR: join(folder, 'checkpoints'),
    CONSOLE_DATA_DIR: consoleFolder,
    NODE_EXTRA_CA_CERTS: authorityFile,
    NODE_OPTIONS: `--import=${import.meta.resolve('./own-address.ts')}`,
    SOAK_NAME_SERVER: nameServer.address,
  });
  const prefix = postrider.environment['TOPIC_PREFIX'] ?? '';
  await prepare(postrider, endpoints, listFolder);

  const client = createKafka({ brokers: cluster.brokers, clientId: 'soak' }, silentLogger);
  const sender = createKafka({ brokers, clientId: 'soak-producer' }, silentLogger);
  const producer = await createProducer(sender, { log: silentLogger });
  atEnd(() => producer.close(1_000));
  const roles: PlacedRole[] = [];
  // One after the other: all at once are not ready in time on a machine that others use too.
  for (const [index, name] of roleNames.entries()) {
    const role = name.split('-')[0] as RoleName;
    // Other systems have only one address of loopback.
    const address = process.platform === 'linux' ? `127.0.1.${index + 1}` : undefined;
    const env = address === undefined ? {} : { SOAK_ADDRESS: address };
    const supervised = await superviseRole(name, () => postrider.start(role, env));
    atEnd(() => supervised.stop());
    roles.push(Object.assign(supervised, { address }));
  }
  const typedCalls = await startTypedCalls(registry);
  const gatewayUrls = (): string[] =>
    roles.flatMap(({ running }) => (running?.gatewayUrl ?? '') || []);
  return {
    postrider,
    cluster,
    kafka: new KafkaView(cluster.brokers, prefix),
    client,
    roles,
    endpoints,
    nameServer,
    typedCalls,
    syncs: startAudienceSyncs(postrider, listFolder),
    brokerLinks,
    registryLink,
    brokerDisks: disks.every((disk) => disk !== undefined) ? disks : undefined,
    consoleDisk,
    startLoad: (accounts) => {
      heard.add(accounts);
      return startLoad({
        accounts,
        gatewayUrls,
        producer,
        ingestTopic: `${prefix}ingest`,
        writeKey,
        typed: (call) => typedCalls.encode(call),
      });
    },
  };
}

/** Topics and resources. */
async function prepare(
  postrider: Installation,
  endpoints: Endpoints,
  listFolder: string,
): Promise<void> {
  const run = async (args: readonly string[], stdin = ''): Promise<void> => {
    const { code, stderr } = await postrider.run(args, { stdin });
    assert.equal(code, 0, stderr);
  };
  await run(['topics', '--create']);
  await writeFile(join(listFolder, membersFile), 'id\n');
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: [writeKey] },
    ...endpointKinds.map(({ id, topic = 'shared', order, batch, compress }) => ({
      kind: 'Destination',
      id,
      name: id,
      sources: ['shop'],
      sharedSecret,
      webhooks: [{ url: endpoints.urlOf(id) }],
      idempotencyHeader: 'Idempotency-Key',
      // A batch has an id of its own there.
      payload: batch === undefined ? 'standard' : 'full',
      topic,
      order,
      batch,
      compress,
    })),
    {
      kind: 'Audience',
      id: audienceId,
      name: 'Soaked',
      trait: audienceTrait,
      source: 'shop',
      destinations: [audienceDestination],
      members: { file: membersFile, userId: 'id' },
      limits: { maxRemoved: 100, maxChanged: 100, maxAdded: 1_000_000 },
    },
  ];
  await run(['apply', '-f', '-'], JSON.stringify(resources));
}

/** What every role and topic has committed, delivered and copied. */
export async function allAtRest(kafka: KafkaView): Promise<void> {
  await kafka.allInSync();
  await kafka.allCommitted('router', ['ingest', 'ingest.audience']);
  const retries = retryTiers.map((tier) => `retry.${tier}`);
  await kafka.allCommitted('delivery', ['delivery', ...retries]);
  for (const { id, topic } of endpointKinds)
    if (topic === 'dedicated') await kafka.allCommitted(`delivery.${id}`, [`delivery.${id}`]);
}
