import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings } from '../../src/settings/read.ts';
import { createTopology } from '../../src/topology.ts';
import { readManifests, type Manifest } from './manifest.ts';

interface KafkaTopic extends Manifest {
  readonly spec: {
    readonly partitions: number;
    readonly replicas: number;
    readonly config: Readonly<Record<string, string | number>>;
  };
}

interface KafkaUser extends Manifest {
  readonly spec: { readonly authorization: { readonly acls: readonly Acl[] } };
}

interface Acl {
  readonly resource: {
    readonly type: 'topic' | 'group' | 'transactionalId';
    readonly name: string;
    readonly patternType?: 'prefix';
  };
  readonly operations: readonly string[];
}

const { topicPrefix, topicPartitions, retryTiersMs } = readSettings({});
const topology = createTopology({
  prefix: topicPrefix,
  partitions: topicPartitions,
  replicationFactor: 3,
  retryTiersMs,
  extraIngestTopics: [],
});
const users = readManifests<KafkaUser>('components/strimzi/kafka-users.yaml');
const dedicated = topology.dedicatedTopic('crm').name;

test('Strimzi makes exactly the topics of the topology, with their settings', () => {
  const made = readManifests<KafkaTopic>('components/strimzi/kafka-topics.yaml');
  assert.deepEqual(
    made.map(({ metadata, spec }) => ({
      name: metadata.name,
      partitions: spec.partitions,
      replicationFactor: spec.replicas,
      config: Object.fromEntries(Object.entries(spec.config).map(([k, v]) => [k, String(v)])),
    })),
    topology.all.map(({ name, partitions, replicationFactor, config }) => {
      return { name, partitions, replicationFactor, config };
    }),
  );
});

/** Which of the names the rights of a user that grant `operation` are about. */
function granted(
  user: string,
  type: Acl['resource']['type'],
  operation: string,
  names: readonly string[],
): string[] {
  const found = users.find(({ metadata }) => metadata.name === `postrider-${user}`);
  assert.ok(found, user);
  const acls = found.spec.authorization.acls.filter(
    ({ resource, operations }) => resource.type === type && operations.includes(operation),
  );
  return names.filter((name) =>
    acls.some(({ resource }) =>
      resource.patternType === 'prefix' ? name.startsWith(resource.name) : name === resource.name,
    ),
  );
}

const names = [...topology.all.map(({ name }) => name), dedicated];
const groups = [
  topology.groups.router,
  topology.groups.delivery,
  topology.dedicatedGroup('crm'),
  topology.redriveGroup(topology.topics.deadLetter),
  topology.redriveGroup(topology.topics.ingestRejected),
  topology.redriveGroup(topology.topics.paused),
  topology.groups.notices,
];
const t = topology.topics;
const retries = retryTiersMs.map((tierMs) => topology.retryTopic(tierMs));

/** What each role does, as docs/design.md has it. */
const work: Readonly<Record<string, { reads: string[]; writes: string[]; groups: string[] }>> = {
  gateway: { reads: [t.config], writes: [t.ingest, t.ingestRejected], groups: [] },
  router: {
    reads: [t.ingest, t.ingestAudience, t.config, t.audienceSyncs],
    writes: [t.ingestRejected, t.delivery, dedicated],
    groups: [topology.groups.router],
  },
  delivery: {
    reads: [
      t.delivery,
      ...retries,
      t.config,
      t.deletions,
      t.pauses,
      t.destinationStatus,
      t.notices,
      dedicated,
    ],
    writes: [
      ...retries,
      t.deadLetter,
      t.pauses,
      t.paused,
      t.attempts,
      t.destinationStatus,
      t.notices,
    ],
    groups: [topology.groups.delivery, topology.dedicatedGroup('crm'), topology.groups.notices],
  },
  'audience-sync': {
    reads: [t.config, t.deletions, t.audienceMembers, t.audienceSyncs],
    writes: [t.ingestAudience, t.audienceMembers, t.audienceSyncs],
    groups: [],
  },
  topics: { reads: [t.config], writes: [], groups: [] },
  resources: { reads: [t.config, t.audienceSyncs], writes: [t.config], groups: [] },
  operator: {
    reads: [
      t.ingest,
      t.ingestAudience,
      t.ingestRejected,
      t.delivery,
      dedicated,
      t.deadLetter,
      t.pauses,
      t.paused,
      t.redrives,
      t.attempts,
      t.destinationStatus,
      t.notices,
      t.config,
      t.deletions,
      t.audienceMembers,
      t.audienceSyncs,
      ...retries,
    ],
    writes: [
      t.ingest,
      t.ingestAudience,
      t.delivery,
      dedicated,
      ...retries,
      t.pauses,
      t.redrives,
      t.config,
      t.deletions,
      t.audienceMembers,
      t.audienceSyncs,
    ],
    groups: [t.deadLetter, t.ingestRejected, t.paused].map((topic) => topology.redriveGroup(topic)),
  },
  console: {
    reads: [
      t.ingest,
      t.ingestAudience,
      t.ingestRejected,
      t.delivery,
      dedicated,
      ...retries,
      t.deadLetter,
      t.pauses,
      t.paused,
      t.notices,
      t.redrives,
      t.attempts,
      t.destinationStatus,
      t.config,
      t.deletions,
      t.audienceSyncs,
      t.audit,
    ],
    writes: [t.delivery, dedicated, t.pauses, t.redrives, t.audit],
    groups: [t.deadLetter, t.paused].map((topic) => topology.redriveGroup(topic)),
  },
};

test('every user of Strimzi is one of the roles', () => {
  const roles = users.map(({ metadata }) => metadata.name.replace(/^postrider-/, ''));
  assert.deepEqual(roles.sort(), Object.keys(work).sort());
});

for (const [user, { reads, writes, groups: joined }] of Object.entries(work)) {
  test(`${user} may read and write its own topics and no other`, () => {
    assert.deepEqual(granted(user, 'topic', 'Read', names).sort(), [...reads].sort());
    assert.deepEqual(granted(user, 'topic', 'Write', names).sort(), [...writes].sort());
    assert.deepEqual(granted(user, 'group', 'Read', groups).sort(), [...joined].sort());
  });
}

test('audience syncs may write in the transactions of any audience', () => {
  const transactions = [topology.audienceTransaction('big-spenders', 11)];
  assert.deepEqual(
    granted('audience-sync', 'transactionalId', 'Write', transactions),
    transactions,
  );
});

test('no right reaches beyond the prefix, and none is unlimited', () => {
  for (const { metadata, spec } of users) {
    for (const { resource, operations } of spec.authorization.acls) {
      assert.ok(resource.name.startsWith(topicPrefix), `${metadata.name}: ${resource.name}`);
      assert.ok(!operations.includes('All') && !operations.includes('Alter'), metadata.name);
    }
  }
});
