import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { maxInFlightBytes } from '../../src/gateway/gateway.ts';
import { exposeState } from '../../src/gateway/metrics.ts';
import { readSettings } from '../../src/settings/read.ts';
import { settingsTable } from '../../src/settings/table.ts';
import { createTopology } from '../../src/topology.ts';
import { readManifests, type Manifest } from './manifest.ts';

interface ScaledObject extends Manifest {
  readonly spec: {
    readonly triggers: readonly {
      readonly type: string;
      readonly metadata: Readonly<Record<string, string>>;
    }[];
  };
}

const { topicPrefix: prefix, topicPartitions: partitions, retryTiersMs } = readSettings({});
const topology = createTopology({
  prefix,
  partitions,
  retryTiersMs,
  replicationFactor: 3,
  extraIngestTopics: [],
});
const [router, delivery, gateway] = readManifests<ScaledObject>(
  'components/keda/scaled-objects.yaml',
);

/**
 * Their schema is a free map, so a misspelt one would pass. (github.com/kedacore/keda v2.21.0,
 * pkg/scalers/kafka_scaler.go, the fields of kafkaMetadata)
 */
const known = [
  'bootstrapServers',
  'bootstrapServersFromEnv',
  'consumerGroup',
  'topic',
  'lagThreshold',
  'activationLagThreshold',
  'offsetResetPolicy',
  'version',
  'tls',
  'sasl',
];

test('every trigger has fields that KEDA reads, and its brokers from a setting', () => {
  const triggers = [router, delivery].flatMap((scaled) => scaled?.spec.triggers ?? []);
  assert.equal(triggers.length, 3);
  for (const { type, metadata } of triggers) {
    assert.equal(type, 'kafka');
    assert.deepEqual(
      Object.keys(metadata).filter((name) => !known.includes(name)),
      [],
    );
    assert.equal(metadata['bootstrapServersFromEnv'], settingsTable.kafkaBrokers.name);
  }
});

/** (The same, pkg/scalers/prometheus_scaler.go and cpu_memory_scaler.go.) */
test('gateways scale by a metric of their own, with room for more, and by the processor', () => {
  const [byMetric, byCpu, ...others] = gateway?.spec.triggers ?? [];
  assert.deepEqual(others, []);
  assert.equal(byMetric?.type, 'prometheus');
  assert.deepEqual(Object.keys(byMetric.metadata).sort(), ['query', 'serverAddress', 'threshold']);
  const registry = new Registry();
  exposeState(registry, () => ({ inFlightBytes: 0, kafkaAvailable: true }));
  const [name = ''] = /postrider_gateway_\w+/.exec(byMetric.metadata['query'] ?? '') ?? [];
  assert.ok(registry.getSingleMetric(name), name);
  assert.ok(Number(byMetric.metadata['threshold']) < maxInFlightBytes / 2);
  assert.deepEqual(byCpu, { type: 'cpu', metricType: 'Utilization', metadata: { value: '70' } });
});

test('routers scale by all ingest topics, delivery workers by the topic of fresh events', () => {
  const watched = (scaled: ScaledObject | undefined): unknown =>
    scaled?.spec.triggers.map(({ metadata }) => [metadata['consumerGroup'], metadata['topic']]);
  assert.deepEqual(
    watched(router),
    topology.ingestTopics.map((topic) => [topology.groups.router, topic]),
  );
  assert.deepEqual(watched(delivery), [[topology.groups.delivery, topology.topics.delivery]]);
});
