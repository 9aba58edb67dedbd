import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostriderError } from '../errors.ts';
import {
  brokerProperties,
  log4jProperties,
  type BrokerPorts,
  type ExtraBrokerConfig,
} from './broker-config.ts';
import { freePorts, keptPorts } from './broker-ports.ts';
import { startJava, waitForPort, type BrokerProcess } from './broker-process.ts';
import { startComposeBroker, type DevBroker } from './dev-broker.ts';
import { holdDataDir } from './data-dir.ts';
import { kafkaJars } from './kafka-jars.ts';
import { installedJava, runs, whyNoKafka } from './own-kafka.ts';
import {
  formatNode,
  newId,
  preparedStart,
  smallJvm,
  type PreparedStart,
} from './prepared-start.ts';

/** A cluster whose brokers can be crashed and started again. */
export interface DevCluster extends DevBroker {
  /** Like a machine that loses power. `nodeId` from 1, as in `brokers`. */
  kill(nodeId: number): Promise<void>;
  /** Like a machine that stands still: its connections stay. It can be killed, and started again. */
  hang(nodeId: number): void;
  /** Ends the standstill. */
  resume(nodeId: number): void;
  start(nodeId: number): Promise<void>;
  /**
   * Restarts a broker as in an upgrade: it hands its partitions over, ends in order, and starts
   * again.
   */
  restart(nodeId: number): Promise<void>;
  /** `host:port` of each that its proxy connects to; empty without `proxyPorts`. */
  readonly behindProxies: readonly string[];
}

export interface BrokerOptions {
  /** Kept for the next start, with the brokers' ports; without it, both are temporary. */
  readonly dataDir?: string;
  /** Told why a start takes longer than others. */
  readonly onNote?: (text: string) => void;
  readonly extra?: ExtraBrokerConfig;
  /** For measurements: as fast as it gets and without pauses, but slow to start, and it takes 2 GB. */
  readonly steady?: boolean;
  /**
   * The port of a proxy in front of each broker. Clients that come through it are told its address.
   */
  readonly proxyPorts?: readonly number[];
}

/**
 * One broker from whatever the machine has: Java, else Docker.
 * @throws PostriderError `broker-unavailable` with what is missing
 */
export async function startBroker(options: BrokerOptions = {}): Promise<DevBroker> {
  const missing = whyNoKafka(await installedJava());
  if (missing === undefined) return startCluster(1, options);
  if (await runs('docker', 'info')) return startComposeBroker();
  throw new PostriderError(
    'broker-unavailable',
    `No Kafka broker: ${missing}, and there is no Docker engine; install one of them, or set KAFKA_BROKERS`,
  );
}

/** Apache Kafka in KRaft mode, `count` brokers that are controllers too. */
export async function startCluster(
  count: number,
  options: BrokerOptions = {},
): Promise<DevCluster> {
  const jarsDir = await kafkaJars(options.onNote);
  const prepared = await preparedStart(jarsDir, () =>
    options.onNote?.(
      'the first broker on this machine: preparing, so that later ones start sooner',
    ),
  );
  const { dataDir, extra, steady = false, proxyPorts = [] } = options;
  const held = dataDir === undefined ? undefined : await holdDataDir(dataDir);
  const home = dataDir ?? (await mkdtemp(join(tmpdir(), 'postrider-kafka-')));
  const temporaryDir = dataDir === undefined ? home : undefined;
  const ports =
    held === undefined || proxyPorts.length > 0
      ? await freePorts(count, proxyPorts)
      : await portsOfDataDir(home, count, held.wasLeft, options.onNote);
  const clusterId = newId();
  const nodes = new Map<number, BrokerProcess>();
  const nodeIds = ports.map((_, index) => index + 1);

  let reportEnd = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    reportEnd = resolve;
  });
  let stopping = false;
  const start = async (nodeId: number): Promise<void> => {
    const node = await startNode({
      jarsDir,
      prepared,
      home,
      temporaryDir,
      nodeId,
      ports,
      clusterId,
      extra,
      jvm: steady ? steadyJvm : [...smallJvm, `-XX:SharedArchiveFile=${prepared.archiveFile}`],
    });
    nodes.set(nodeId, node);
    void node.exited.then(() => {
      if (!stopping) reportEnd();
    });
  };
  const stop = async (): Promise<void> => {
    stopping = true;
    const signal = options.dataDir === undefined ? 'SIGKILL' : 'SIGTERM';
    await Promise.all([...nodes.values()].map((node) => node.stop(signal)));
    if (options.dataDir === undefined) await rm(home, { recursive: true, force: true });
    await held?.release();
  };
  await Promise.all(nodeIds.map(start));
  return {
    brokers: ports.map(({ client }) => `127.0.0.1:${client}`),
    ended,
    start,
    kill: async (nodeId) => nodes.get(nodeId)?.stop('SIGKILL'),
    hang: (nodeId) => nodes.get(nodeId)?.hang(),
    resume: (nodeId) => nodes.get(nodeId)?.resume(),
    restart: async (nodeId) => {
      await nodes.get(nodeId)?.stop('SIGTERM');
      await start(nodeId);
    },
    behindProxies: ports.flatMap(({ proxied }) =>
      proxied === undefined ? [] : `127.0.0.1:${proxied.broker}`,
    ),
    stop,
  };
}

/**
 * New memory is dear on a machine that takes idle memory back, so all of it is touched ahead. With a heap that
 * grows, and the first compiler alone, 10,000 events a second took 0.46 of a core instead of 0.28.
 */
const steadyJvm = ['-Xms2g', '-Xmx2g', '-XX:+AlwaysPreTouch', '-XX:+UseZGC', '-XX:-ZProactive'];

/** The time that the guard of a broker that was left takes to end it, and a little. */
const leftBrokerMs = 12_000;

async function portsOfDataDir(
  dataDir: string,
  count: number,
  wasLeft: boolean,
  onNote: (text: string) => void = () => undefined,
): Promise<BrokerPorts[]> {
  if (wasLeft)
    onNote(
      'the last run with this data folder was killed: waiting about 10 s until its broker has ended, the data is checked, and Kafka has removed the former members of its groups',
    );
  const file = join(dataDir, 'ports');
  const { ports, areOthers } = await keptPorts(file, count, wasLeft ? leftBrokerMs : 0);
  if (areOthers) onNote("the broker's former port is taken, so it uses another one now");
  return ports;
}

interface NodeOptions {
  readonly jvm: readonly string[];
  readonly jarsDir: string;
  readonly prepared: PreparedStart;
  readonly home: string;
  readonly temporaryDir: string | undefined;
  readonly nodeId: number;
  readonly ports: readonly BrokerPorts[];
  readonly clusterId: string;
  readonly extra: ExtraBrokerConfig | undefined;
}

async function startNode(options: NodeOptions): Promise<BrokerProcess> {
  const { jarsDir, prepared, home, temporaryDir, nodeId, ports, clusterId, extra } = options;
  const nodeDir = join(home, `node-${nodeId}`);
  const dataDir = join(nodeDir, 'data');
  const propertiesFile = join(nodeDir, 'server.properties');
  const logFile = join(nodeDir, 'kafka.log');
  await mkdir(nodeDir, { recursive: true });
  await writeFile(propertiesFile, brokerProperties({ nodeId, ports, dataDir, extra }));
  await writeFile(join(nodeDir, 'log4j2.properties'), log4jProperties(extra?.logLevels));
  const jvmOptions = [
    ...options.jvm,
    `-Dlog4j2.configurationFile=${join(nodeDir, 'log4j2.properties')}`,
  ];

  await formatNode(dataDir, prepared, { clusterId, nodeId });
  const broker = await startJava({
    jarsDir,
    jvmOptions,
    logFile,
    temporaryDir,
    mainClass: 'kafka.Kafka',
    args: [propertiesFile],
  });
  await waitForPort(ports[nodeId - 1]?.client ?? 0, broker, logFile);
  broker.unref();
  return broker;
}
