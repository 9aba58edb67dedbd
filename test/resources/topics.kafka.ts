import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAdmin } from '../../src/kafka/admin.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { createTopics, findDifferences, inspectTopics } from '../../src/resources/topics.ts';
import { createTopology } from '../../src/topology.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';

test('what is missing is made, and what is too small is reported and stays as it is', async () => {
  const { brokers } = await testBroker();
  const kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
  const options = {
    prefix: testPrefix(),
    partitions: 1,
    replicationFactor: 1,
    retryTiersMs: [1_000],
    extraIngestTopics: [],
  };
  const inspect = (changes: object): ReturnType<typeof inspectTopics> => {
    const topology = createTopology({ ...options, ...changes });
    return inspectTopics({ kafka, topology, log: silentLogger });
  };

  const missing = await inspect({});
  assert.ok(missing.every(({ state }) => state === 'missing'));
  await createTopics(kafka, missing);
  assert.deepEqual(findDifferences(await inspect({})), []);

  const changes = { partitions: 3, retryTiersMs: [1_000, 2_000] };
  await createTopics(kafka, await inspect(changes));
  const left = findDifferences(await inspect(changes));
  const states = new Map(left.map(({ name, state }) => [name.slice(options.prefix.length), state]));
  assert.deepEqual(new Set(states.values()), new Set(['differs']));
  for (const name of ['delivery', 'retry.1s', 'ingest', 'dead-letter']) assert.ok(states.has(name));
  assert.ok(left.every(({ partitions }) => partitions === 1));
  assert.deepEqual(findDifferences(await inspect({ retryTiersMs: [1_000, 2_000] })), []);
  const former = findDifferences(await inspect({ retryTiersMs: [2_000] }));
  assert.deepEqual(
    former.map(({ name, state }) => [name.slice(options.prefix.length), state]),
    [['retry.1s', 'leftover']],
  );

  const admin = await openAdmin(kafka);
  for (const name of await admin.topicNames(options.prefix)) await admin.deleteTopic(name);
  await admin.close();
});
