import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TopicSpec } from '../../src/kafka/admin.ts';
import { ingestProblems } from '../../src/router/ingest-topics.ts';
import { createTopology, type Topology } from '../../src/topology.ts';

const topology: Topology = createTopology({
  prefix: 'p.',
  partitions: 3,
  replicationFactor: 1,
  retryTiersMs: [10_000],
  extraIngestTopics: ['web-calls'],
});
const own = topology.all.filter(({ name }) => topology.ingestTopics.includes(name));
const foreign = {
  ...(own[0] as TopicSpec),
  name: 'web-calls',
  config: { 'message.timestamp.type': 'LogAppendTime', 'max.message.bytes': '1048576' },
};

test('ingest topics that are as they should be are read', () => {
  assert.deepEqual(ingestProblems(topology, [...own, foreign]), []);
});

test('a topic of another system is refused when its timestamps are those of producers', () => {
  const config = { ...foreign.config, 'message.timestamp.type': 'CreateTime' };
  assert.deepEqual(ingestProblems(topology, [...own, { ...foreign, config }]), [
    'topic web-calls, named in INGEST_TOPICS, cannot be read: message.timestamp.type is CreateTime, should be LogAppendTime',
  ]);
});

test('a topic of another system is refused when its records may be larger than our own', () => {
  const config = { ...foreign.config, 'max.message.bytes': '1048577' };
  assert.deepEqual(ingestProblems(topology, [...own, { ...foreign, config }]), [
    'topic web-calls, named in INGEST_TOPICS, cannot be read: max.message.bytes is 1048577, should be at most 1048576',
  ]);
});

test('a missing topic is named, and what to do about it', () => {
  assert.deepEqual(ingestProblems(topology, own.slice(1)), [
    'topic p.ingest does not exist; create it with `postrider topics --create`',
    'topic web-calls, named in INGEST_TOPICS, does not exist',
  ]);
});

test('settings of our own topics that make no difference to reading do not keep the router from starting', () => {
  const config = { ...own[0]?.config, 'retention.ms': '1' };
  const shorter = { ...(own[0] as TopicSpec), config };
  assert.deepEqual(ingestProblems(topology, [shorter, ...own.slice(1), foreign]), []);
});

test('our own topic is refused too when its timestamps are those of producers', () => {
  const config = { ...own[0]?.config, 'message.timestamp.type': 'CreateTime' };
  const [problem] = ingestProblems(topology, [
    { ...(own[0] as TopicSpec), config },
    ...own.slice(1),
    foreign,
  ]);
  assert.match(
    String(problem),
    /^topic p.ingest cannot be read: message.timestamp.type is CreateTime/,
  );
});
