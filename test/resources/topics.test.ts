import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TopicSpec } from '../../src/kafka/admin.ts';
import { diffTopics, findDifferences, type TopicFinding } from '../../src/resources/topics.ts';
import { createTopology, type Topic, type Topology } from '../../src/topology.ts';
import { exampleDestination } from './examples.ts';

function topologyOf(changes: Partial<Parameters<typeof createTopology>[0]> = {}): Topology {
  return createTopology({
    prefix: 'p.',
    partitions: 12,
    replicationFactor: 1,
    retryTiersMs: [10_000, 60_000],
    extraIngestTopics: [],
    ...changes,
  });
}

/** As the cluster would have it after creation, with what Kafka adds by itself. */
function existing(topic: Topic, changes: Partial<TopicSpec> = {}): TopicSpec {
  return { ...topic, config: { 'segment.bytes': '1', ...topic.config }, ...changes };
}

function differences(
  topology: Topology,
  topics: readonly TopicSpec[],
  destinations: Parameters<typeof diffTopics>[1] = [],
): readonly TopicFinding[] {
  return findDifferences(diffTopics(topology, destinations, topics));
}

function only(findings: readonly TopicFinding[]): TopicFinding {
  assert.equal(findings.length, 1, JSON.stringify(findings));
  return findings[0] as TopicFinding;
}

const topology = topologyOf();
const complete = topology.all.map((topic) => existing(topic));

function changed(name: string, changes: Partial<TopicSpec>): TopicSpec[] {
  return complete.map((topic) => (topic.name === name ? { ...topic, ...changes } : topic));
}

test('a cluster with exactly what the topology says has no difference', () => {
  assert.deepEqual(differences(topology, complete), []);
  const findings = diffTopics(topology, [], complete);
  assert.deepEqual(
    findings.map(({ name }) => name),
    topology.all.map(({ name }) => name),
  );
});

test('on an empty cluster everything is missing and can be created', () => {
  const missing = differences(topology, []);
  assert.deepEqual(
    missing.map(({ toCreate }) => toCreate),
    topology.all,
  );
});

test('the dedicated topic of a destination is wanted, others are leftovers', () => {
  const dedicated = exampleDestination({ topic: 'dedicated' });
  const missing = only(differences(topology, complete, [dedicated]));
  assert.deepEqual([missing.name, missing.state], ['p.delivery.crm', 'missing']);

  const topics = [...complete, existing(topology.dedicatedTopic('crm'))];
  assert.deepEqual(differences(topology, topics, [dedicated]), []);
  const leftover = only(differences(topology, topics, [exampleDestination()]));
  assert.deepEqual([leftover.name, leftover.state], ['p.delivery.crm', 'leftover']);
  assert.deepEqual(leftover.details, ['no destination crm has a dedicated topic']);
});

test('a dedicated topic has three partitions, or as many as its destination asks for, and keeps what it has if that asks for none', () => {
  const asking = (partitions?: number) =>
    exampleDestination({ topic: 'dedicated', ...(partitions === undefined ? {} : { partitions }) });
  const made = (partitions?: number) =>
    only(differences(topology, complete, [asking(partitions)])).toCreate?.partitions;
  assert.deepEqual([made(), made(24)], [3, 24]);
  const found = [...complete, existing(topology.dedicatedTopic('crm', 12))];
  assert.deepEqual(differences(topology, found, [asking()]), []);
  assert.deepEqual(differences(topology, found, [asking(12)]), []);
  const few = only(differences(topology, found, [asking(24)]));
  assert.match(few.details.join(), /add-partitions p\.delivery\.crm --partitions 24/);
  const many = only(differences(topology, found, [asking(6)]));
  assert.match(many.details.join(), /set partitions of destination crm to what exists/);
});

test('the retry topic of a former tier is a leftover', () => {
  const former = existing(topology.all[0] as Topic, { name: topology.retryTopic(5_000) });
  const leftover = only(differences(topology, [...complete, former]));
  assert.deepEqual([leftover.name, leftover.state], ['p.retry.5s', 'leftover']);
});

test('topics of others are left alone, also under the prefix', () => {
  const others = ['p.orders', 'retry.10s', 'delivery.crm', 'x.p.retry.5s'];
  const topics = others.map((name) => existing(topology.all[0] as Topic, { name }));
  assert.deepEqual(differences(topology, [...complete, ...topics]), []);
});

test('too few partitions are told, with the command that adds them, and too many as well', () => {
  const { delivery, config, audienceMembers, deletions } = topology.topics;
  const few = only(differences(topology, changed(delivery, { partitions: 3 })));
  assert.deepEqual([few.toCreate, few.state], [undefined, 'differs']);
  assert.match(few.details.join(), /has 3 partitions, should have 12: .*add-partitions/);

  const many = only(differences(topology, changed(delivery, { partitions: 24 })));
  assert.match(many.details.join(), /set TOPIC_PARTITIONS/);

  const fixed = only(differences(topology, changed(config, { partitions: 12 })));
  assert.match(fixed.details.join(), /must not change/);
  // They keep what they were made with, whatever that was.
  for (const name of [audienceMembers, deletions])
    assert.deepEqual(differences(topology, changed(name, { partitions: 3 })), []);
});

test('a retry topic that is made later gets as many partitions as those that it belongs to', () => {
  const [first = 0, second = 0] = topology.retryTiersMs;
  const former = complete
    .filter(({ name }) => name !== topology.retryTopic(second))
    .map((each) => ({ ...each, partitions: each.partitions === 12 ? 5 : each.partitions }));
  const findings = differences(topology, former);
  const made = findings.flatMap(({ toCreate }) => toCreate ?? []);
  assert.deepEqual(
    made.map(({ name, partitions }) => [name, partitions]),
    [[topology.retryTopic(second), 5]],
  );
  assert.ok(findings.some(({ name }) => name === topology.retryTopic(first)));
});

test('settings and replication that differ are named with what they should be', () => {
  const { ingest } = topology.topics;
  const config = { ...complete[0]?.config, 'message.timestamp.type': 'CreateTime' };
  const finding = only(differences(topology, changed(ingest, { config, replicationFactor: 3 })));
  assert.deepEqual(finding.details, [
    'replication factor is 3, should be 1',
    'message.timestamp.type is CreateTime, should be LogAppendTime',
  ]);
});

test('a further ingest topic must exist, stamp append times and take no larger records', () => {
  const withOrders = topologyOf({ extraIngestTopics: ['orders'] });
  const good = existing(topology.all[0] as Topic, { name: 'orders', partitions: 5 });
  assert.deepEqual(differences(withOrders, [...complete, good]), []);

  const missing = only(differences(withOrders, complete));
  assert.equal(missing.toCreate, undefined);
  assert.match(missing.details.join(), /whoever owns it/);

  const config = { 'message.timestamp.type': 'CreateTime', 'max.message.bytes': '2000000' };
  assert.deepEqual(only(differences(withOrders, [...complete, { ...good, config }])).details, [
    'message.timestamp.type is CreateTime, should be LogAppendTime',
    'max.message.bytes is 2000000, should be at most 1048576',
  ]);
});
