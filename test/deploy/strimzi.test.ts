import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings } from '../../src/settings/read.ts';
import { createTopology } from '../../src/topology.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { environmentOf } from './environment.ts';
import { ourContainer, podOf, readManifests, workloadsOf, type Manifest } from './manifest.ts';
import { render, renderEdited, takeAllIn } from './render.ts';
import { Traffic, type NetworkPolicy } from './traffic.ts';

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
  topology.audienceGroup('big-spenders'),
];
const t = topology.topics;
const retries = retryTiersMs.map((tierMs) => topology.retryTopic(tierMs));

/** What each role does, as docs/design.md has it. */
const work: Readonly<Record<string, { reads: string[]; writes: string[]; groups: string[] }>> = {
  gateway: { reads: [t.config], writes: [t.ingest, t.ingestRejected], groups: [] },
  router: {
    reads: [t.ingest, t.ingestAudience, t.config, t.audienceSyncs, t.suppressions],
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
    groups: [topology.audienceGroup('big-spenders')],
  },
  topics: { reads: [t.config], writes: [], groups: [] },
  resources: {
    reads: [t.config, t.audienceSyncs, t.pauses],
    writes: [t.config, t.pauses, t.audit],
    groups: [],
  },
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
      t.suppressions,
      t.audienceMembers,
      t.audienceSyncs,
      t.audit,
      t.links,
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
      t.suppressions,
      t.audienceMembers,
      t.audienceSyncs,
      t.audit,
      t.links,
    ],
    groups: [
      ...[t.deadLetter, t.ingestRejected, t.paused].map((topic) => topology.redriveGroup(topic)),
      topology.audienceGroup('big-spenders'),
    ],
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
      t.suppressions,
      t.audienceSyncs,
      t.audit,
      t.links,
    ],
    writes: [t.delivery, dedicated, t.pauses, t.redrives, t.audit],
    groups: [t.deadLetter, t.paused].map((topic) => topology.redriveGroup(topic)),
  },
  api: {
    reads: [
      t.config,
      t.audit,
      t.links,
      t.deadLetter,
      t.redrives,
      t.attempts,
      t.pauses,
      t.paused,
      ...retries,
      t.deletions,
      t.destinationStatus,
    ],
    writes: [
      t.config,
      t.audit,
      t.links,
      t.delivery,
      dedicated,
      t.redrives,
      t.pauses,
      ...retries,
      t.deletions,
      t.suppressions,
    ],
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

test('whoever writes the configuration may fence the others, and nobody else may', () => {
  const transactions = [topology.configWriter];
  for (const [user, { writes }] of Object.entries(work))
    assert.deepEqual(
      granted(user, 'transactionalId', 'Write', transactions),
      writes.includes(t.config) ? transactions : [],
      user,
    );
});

test('the operator may add partitions to dedicated topics, which Strimzi does not know, and nobody to others', () => {
  for (const user of Object.keys(work)) {
    const altered = user === 'operator' ? [dedicated] : [];
    assert.deepEqual(granted(user, 'topic', 'Alter', names), altered, user);
  }
});

test('no right reaches beyond the prefix, and none is unlimited', () => {
  for (const { metadata, spec } of users) {
    for (const { resource, operations } of spec.authorization.acls) {
      assert.ok(resource.name.startsWith(topicPrefix), `${metadata.name}: ${resource.name}`);
      assert.ok(!operations.includes('All'), metadata.name);
    }
  }
});

testNeeding(
  [programs.kustomize],
  'a Strimzi cluster of another name and namespace is named in one file, and everything follows',
  (kustomize) => {
    const file = 'components/strimzi/cluster.yaml';
    const renamed = renderEdited(kustomize, [
      takeAllIn,
      { file, from: /name: kafka # name/, to: 'name: my-events' },
      { file, from: /namespace: postrider # name/, to: 'namespace: streams' },
    ]);
    const text = (manifests: readonly Manifest[]): string => JSON.stringify(manifests);
    // The name of the settings changes with their content.
    const plain = (manifests: readonly Manifest[]): string =>
      text(manifests).replaceAll(/postrider-settings-\w{10}/g, 'postrider-settings');
    const before = plain(render(kustomize, 'everything'));
    const places = [
      '"strimzi.io/cluster":"kafka"',
      '"kafka-cluster-ca-cert"',
      '"kafka-kafka-bootstrap.postrider.svc:9093"',
    ];
    const expected = places.reduce((now, place) => {
      const elsewhere = place.replace(/"kafka(?=["-])/, '"my-events');
      return now.replaceAll(place, elsewhere.replace('.postrider.', '.streams.'));
    }, before);
    assert.equal(plain(renamed), expected);
    assert.deepEqual(
      places.map((place) => before.split(place).length - 1 > 0 && !expected.includes(place)),
      [true, true, true],
    );
    // Network policies let nothing else through, so a name that they keep would cut every pod off.
    const traffic = new Traffic(
      renamed.filter(({ kind }) => kind === 'NetworkPolicy') as NetworkPolicy[],
    );
    const labels = { 'strimzi.io/cluster': 'my-events', 'strimzi.io/kind': 'Kafka' };
    const broker = { namespace: 'kafka', labels };
    for (const workload of workloadsOf(renamed))
      assert.ok(traffic.mayReach(podOf(workload), broker, { protocol: 'TCP', port: 9093 }));
  },
);

testNeeding(
  [programs.kustomize],
  'without Strimzi, its resources can be left out and the brokers named, and logins and certificates stay',
  (kustomize) => {
    const patches = `patches:
  - target: { group: kafka.strimzi.io }
    patch: |
      $patch: delete
      apiVersion: kafka.strimzi.io/v1
      kind: any
      metadata: { name: any }
  - target: { kind: ConfigMap, name: postrider-settings }
    patch: |
      - { op: replace, path: /data/KAFKA_BROKERS, value: 'kafka-1:9093,kafka-2:9093' }
images:`;
    const file = 'overlays/production/kustomization.yaml';
    const edit = { file, from: /^images:/m, to: patches.replaceAll('$', '$$$$') };
    const manifests = renderEdited(kustomize, [edit]);
    assert.ok(!manifests.some(({ apiVersion }) => apiVersion.startsWith('kafka.strimzi.io')));
    for (const workload of workloadsOf(manifests)) {
      const { volumes = [] } = podOf(workload).spec;
      assert.ok(
        volumes.some(({ name }) => name === 'kafka-ca'),
        workload.metadata.name,
      );
      const { kafkaBrokers, kafkaSaslPassword } = readSettings(
        environmentOf(manifests, ourContainer(workload)),
      );
      assert.deepEqual(kafkaBrokers, ['kafka-1:9093', 'kafka-2:9093']);
      assert.ok(kafkaSaslPassword, workload.metadata.name);
    }
  },
);
