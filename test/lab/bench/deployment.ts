import { createKafka, type KafkaClient } from '../../../src/kafka/client.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { createTopology, type Topology } from '../../../src/topology.ts';
import { install, type Installation } from '../../harness/postrider.ts';
import { NumberedArrivals, partitions, type LoadDestination } from './rebalance-load.ts';
import { startEndpoints } from './stand-endpoints.ts';

/** Topics, resources and endpoints for roles that run as processes, as an operator starts them. */
export interface Deployment {
  readonly postrider: Installation;
  readonly topology: Topology;
  readonly kafka: KafkaClient;
  readonly arrivals: NumberedArrivals;
  close(): void;
}

const retryTiersMs = [10_000, 60_000];
export const writeKey = 'wk_bench';

export async function deploy(
  brokers: readonly string[],
  prefix: string,
  destinations: readonly LoadDestination[],
): Promise<Deployment> {
  const postrider = await install({
    TOPIC_PREFIX: prefix,
    TOPIC_PARTITIONS: String(partitions),
    RETRY_TIERS: '10s,1m',
    DELIVERY_ALLOW_NETWORKS: '127.0.0.0/8',
  });
  await postrider.run(['topics', '--create']);
  const arrivals = new NumberedArrivals();
  const endpoints = await startEndpoints((n) => {
    arrivals.arrived(n);
  });
  const resources = [
    { kind: 'Source', id: 'bench', name: 'Bench', writeKeys: [writeKey] },
    ...destinations.map(({ id, behaviour }, index) => ({
      kind: 'Destination',
      id,
      name: id,
      sources: ['bench'],
      // Every loopback address is an origin of its own.
      webhooks: [{ url: `http://127.1.0.${index + 1}:${endpoints.port}/${behaviour}` }],
    })),
  ];
  const applied = await postrider.run(['apply', '-f', '-'], { stdin: JSON.stringify(resources) });
  if (applied.code !== 0) throw new Error(applied.stderr);
  return {
    postrider,
    arrivals,
    topology: createTopology({
      prefix,
      partitions,
      replicationFactor: 1,
      retryTiersMs,
      extraIngestTopics: [],
    }),
    kafka: createKafka({ brokers, clientId: 'bench' }, silentLogger),
    close: () => {
      endpoints.close();
    },
  };
}
