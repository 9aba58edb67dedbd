import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  ...{ prefix, partitions, retryTiersMs },
  replicationFactor: 3,
  extraIngestTopics: [],
});
const [router, delivery] = readManifests<ScaledObject>('components/keda/scaled-objects.yaml');

/**
 * Their schema is a free map, so a misspelt one would pass. (github.com/kedacore/keda v2.21.0,
 * pkg/scalers/kafka_scaler.go, the fields of kafkaMetadata)
 */
const known = [
  ...['bootstrapServers', 'bootstrapServersFromEnv', 'consumerGroup', 'topic', 'lagThreshold'],
  ...['activationLagThreshold', 'offsetResetPolicy', 'version', 'tls', 'sasl'],
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

test('routers scale by all ingest topics, delivery workers by the topic of fresh events', () => {
  const watched = (scaled: ScaledObject | undefined): unknown =>
    scaled?.spec.triggers.map(({ metadata }) => [metadata['consumerGroup'], metadata['topic']]);
  assert.deepEqual(
    watched(router),
    topology.ingestTopics.map((topic) => [topology.groups.router, topic]),
  );
  assert.deepEqual(watched(delivery), [[topology.groups.delivery, topology.topics.delivery]]);
});
