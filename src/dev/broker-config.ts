/** The `server.properties` of one broker of a development cluster. */

export interface BrokerPorts {
  readonly client: number;
  readonly controller: number;
  readonly proxied?: ProxiedPorts;
}

/** For clients that come through a proxy. Brokers talk to each other without it. */
export interface ProxiedPorts {
  /** The port on which the broker listens, and to which the proxy connects. */
  readonly broker: number;
  /** The port on which the proxy listens: the broker tells its clients to connect there. */
  readonly proxy: number;
}

export interface BrokerConfigOptions {
  /** From 1. */
  readonly nodeId: number;
  /** The ports of every broker of the cluster; this one's are at `nodeId - 1`. */
  readonly ports: readonly BrokerPorts[];
  readonly dataDir: string;
  readonly extra?: ExtraBrokerConfig | undefined;
}

/** Additions to a development cluster beside its one listener without any protection. */
export interface ExtraBrokerConfig {
  readonly listeners: readonly ExtraListener[];
  /** Set over all others. */
  readonly properties: Readonly<Record<string, string>>;
  /** Loggers of Kafka's that say more or less than `info`. */
  readonly logLevels: Readonly<Record<string, string>>;
  /** The zone of each broker, which readers in that zone are sent to. */
  readonly racks?: readonly string[];
}

export interface ExtraListener {
  /** In capitals. */
  readonly name: string;
  readonly port: number;
  readonly protocol: 'SSL' | 'SASL_SSL' | 'SASL_PLAINTEXT';
}

export function brokerProperties(options: BrokerConfigOptions): string {
  const { nodeId, ports, extra } = options;
  const own = ports[nodeId - 1];
  if (own === undefined) throw new RangeError(`no ports for node ${nodeId}`);
  const copies = String(Math.min(3, ports.length));
  const inSync = ports.length >= 3 ? '2' : '1';
  const clients = [
    { name: 'CLIENT', port: own.client, toldPort: own.client, protocol: 'PLAINTEXT' },
    ...proxiedListener(own.proxied),
    ...(extra?.listeners ?? []).map((listener) => ({ ...listener, toldPort: listener.port })),
  ].map(({ name, port, toldPort, protocol }) => ({
    address: `${name}://127.0.0.1:${port}`,
    toldAddress: `${name}://127.0.0.1:${toldPort}`,
    protocol: `${name}:${protocol}`,
  }));
  const properties: Record<string, string> = {
    'process.roles': 'broker,controller',
    'node.id': String(nodeId),
    listeners: [
      ...clients.map(({ address }) => address),
      `CONTROLLER://127.0.0.1:${own.controller}`,
    ].join(','),
    'advertised.listeners': clients.map(({ toldAddress }) => toldAddress).join(','),
    'listener.security.protocol.map': [
      ...clients.map(({ protocol }) => protocol),
      'CONTROLLER:PLAINTEXT',
    ].join(','),
    'inter.broker.listener.name': 'CLIENT',
    'controller.listener.names': 'CONTROLLER',
    'controller.quorum.voters': ports
      .map(({ controller }, index) => `${index + 1}@127.0.0.1:${controller}`)
      .join(','),
    'log.dirs': options.dataDir,
    'auto.create.topics.enable': 'false',
    'default.replication.factor': copies,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': copies,
    'offsets.topic.num.partitions': '4',
    'transaction.state.log.replication.factor': copies,
    'transaction.state.log.min.isr': inSync,
    'transaction.state.log.num.partitions': '4',
    'share.coordinator.state.topic.replication.factor': copies,
    'share.coordinator.state.topic.min.isr': inSync,
    // Consumers of tests come and go: no waiting for more members, short sessions allowed.
    'group.initial.rebalance.delay.ms': '0',
    'group.min.session.timeout.ms': '1000',
    'num.network.threads': '2',
    'num.io.threads': '4',
    'log.cleaner.dedupe.buffer.size': '4194304',
    'broker.session.timeout.ms': '3000',
    'broker.heartbeat.interval.ms': '500',
    ...(extra?.racks === undefined ? {} : zoneOf(extra.racks[nodeId - 1] ?? '')),
    ...extra?.properties,
  };
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

function proxiedListener(ports: ProxiedPorts | undefined) {
  if (ports === undefined) return [];
  return [{ name: 'PROXIED', port: ports.broker, toldPort: ports.proxy, protocol: 'PLAINTEXT' }];
}

function zoneOf(rack: string): Record<string, string> {
  const selector = 'org.apache.kafka.common.replica.RackAwareReplicaSelector';
  return { 'broker.rack': rack, 'replica.selector.class': selector };
}

/** Kafka's log, one line an entry, on stdout. */
export function log4jProperties(logLevels: Readonly<Record<string, string>> = {}): string {
  const special = Object.entries(logLevels).map(
    ([name, level], index) =>
      `logger.special${index}.name=${name}\nlogger.special${index}.level=${level}\n`,
  );
  return `status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c: %m%n
rootLogger.level=info
rootLogger.appenderRef.out.ref=out
${special.join('')}`;
}
