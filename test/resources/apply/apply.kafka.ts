import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { withAdmin } from '../../../src/kafka/admin.ts';
import { makeDedicatedTopics } from '../../../src/resources/apply/apply.ts';
import { readStoredResources } from '../../../src/resources/config/config-topic.ts';
import type { Change } from '../../../src/resources/apply/plan.ts';
import { InvalidResources } from '../../../src/resources/problem.ts';
import { createSecretKeys } from '../../../src/resources/config/secrets.ts';
import { createTopics, findDifferences, inspectTopics } from '../../../src/resources/topics.ts';
import { testDeployment, type TestDeployment } from '../deployment.ts';
import { exampleDestination, exampleSource } from '../examples.ts';

let deployment: TestDeployment;

before(async () => {
  deployment = await testDeployment();
});

after(() => deployment.stop());

async function storedKeys(): Promise<string[]> {
  return [...(await readStoredResources(deployment)).keys()].sort();
}

test('applying creates, applying again changes nothing, and pruning deletes', async () => {
  const both = [exampleSource(), exampleDestination()];
  assert.deepEqual(await deployment.apply(both), ['create Source shop', 'create Destination crm']);
  assert.deepEqual(await deployment.apply(both), [
    'unchanged Source shop',
    'unchanged Destination crm',
  ]);
  const rotated = createSecretKeys(Buffer.alloc(32, 7), Buffer.alloc(32, 1));
  assert.deepEqual(await deployment.apply(both, { secretKeys: rotated }), [
    'unchanged Source shop',
    'update Destination crm: encryption key',
  ]);
  const rotationOver = createSecretKeys(Buffer.alloc(32, 7), undefined);
  assert.deepEqual(await deployment.apply(both, { secretKeys: rotationOver }), [
    'unchanged Source shop',
    'unchanged Destination crm',
  ]);
  const pruned = await deployment.apply([exampleSource()], { prune: true });
  assert.deepEqual(pruned, ['unchanged Source shop', 'delete Destination crm']);
  assert.deepEqual(await storedKeys(), ['Source/shop']);
});

test('nothing is written if anything is refused', async () => {
  const before = await storedKeys();
  await assert.rejects(
    deployment.apply([
      exampleSource({ id: 'other', writeKeys: ['wk_other'] }),
      exampleDestination({ sources: ['missing'] }),
    ]),
    InvalidResources,
  );
  assert.deepEqual(await storedKeys(), before);
});

test('all topics exist after creation, exactly as the topology says', async () => {
  assert.deepEqual(findDifferences(await inspectTopics(deployment)), []);
});

test('a dedicated topic is there before anyone can know of its destination', async () => {
  const { kafka, topology } = deployment;
  const resource = exampleDestination({ id: 'early', topic: 'dedicated', partitions: 5 });
  const { kind, id } = resource;
  const topic = topology.dedicatedTopic(id).name;
  const change: Change = { action: 'create', kind, id, fields: [], resource, value: '{}' };
  await makeDedicatedTopics({ kafka, topology }, [change]);
  const specs = await withAdmin(kafka, (admin) => admin.describeTopics([topic]));
  assert.equal(specs.get(topic)?.partitions, 5);
  await withAdmin(kafka, (admin) => admin.deleteTopic(topic));
});

test('a dedicated topic is made with its destination, and is a leftover after it', async () => {
  const { topology, kafka } = deployment;
  await deployment.apply([exampleSource(), exampleDestination({ topic: 'dedicated' })]);
  assert.deepEqual(findDifferences(await inspectTopics(deployment)), []);
  const { name } = topology.dedicatedTopic('crm');
  assert.ok((await inspectTopics(deployment)).some((finding) => finding.name === name));

  await deployment.apply([exampleDestination()]);
  const leftovers = findDifferences(await inspectTopics(deployment));
  assert.deepEqual(
    leftovers.map((finding) => [finding.name, finding.state]),
    [[name, 'leftover']],
  );
  await createTopics(kafka, leftovers);
  assert.equal(findDifferences(await inspectTopics(deployment)).length, 1);
});
