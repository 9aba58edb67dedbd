import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Analytics, type AnalyticsOptions } from '../../src/client/index.ts';
import { withAdmin } from '../../src/kafka/admin.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { ingestSubject, registerSchema } from '../../src/schemas/publish.ts';
import { RegistryClient } from '../../src/schemas/registry-client.ts';
import { startFaultyRegistry } from '../harness/registry.ts';
import { makeTopic, readAll } from '../kafka/topics.ts';
import { testDeployment, type TestDeployment } from '../resources/deployment.ts';
import {
  installPacked,
  kafkaPrograms,
  nodes,
  readBackProgram,
  readmeExamples,
  type Consumer,
} from './packed.ts';

const run = promisify(execFile);

let deployment: TestDeployment;
let consumer: Consumer;
let topic: string;

before(async () => {
  deployment = await testDeployment();
  topic = deployment.topology.topics.ingest;
  consumer = await installPacked(['kafkajs']);
});

after(async () => {
  await deployment.stop();
  await consumer.remove();
});

function connect(options: AnalyticsOptions = {}): Analytics {
  const { brokers } = deployment;
  return new Analytics('wk_shop', { transport: 'kafka', kafka: { brokers, topic }, ...options });
}

async function written(): Promise<Map<string, IncomingRecord>> {
  const ranges = await withAdmin(deployment.kafka, (admin) => admin.offsets(topic));
  const records = new Map<string, IncomingRecord>();
  for await (const record of readRange(deployment.kafka, { topic, ranges })) {
    const { messageId } = JSON.parse(String(record.value)) as { messageId: string };
    assert.ok(!records.has(messageId), 'written twice');
    records.set(messageId, record);
  }
  return records;
}

test('calls are written to the ingest topic, keyed by the user, with the write key', async () => {
  const delivered: string[] = [];
  const analytics = connect({ onDelivered: ({ messageId }) => delivered.push(messageId) });
  const ids = Array.from({ length: 105 }, (_, i) =>
    analytics.track({ userId: `u${i % 10}`, event: 'Bought', properties: { i } }),
  );
  const anonymous = analytics.identify({ anonymousId: 'a' });
  await analytics.close();

  const records = await written();
  assert.deepEqual([...delivered].sort(), [...ids, anonymous].sort());
  assert.deepEqual([...records.keys()].sort(), [...ids, anonymous].sort());
  const record = records.get(ids[7] ?? '') ?? assert.fail('not written');
  assert.equal(String(record.key), 'u7');
  assert.equal(String(record.headers['write-key']), 'wk_shop');
  const { type, event, context } = JSON.parse(String(record.value)) as Record<string, unknown>;
  assert.deepEqual([type, event], ['track', 'Bought']);
  assert.equal((context as { library: { name: string } }).library.name, 'postrider-client');
  assert.equal(String(records.get(anonymous)?.key), 'a');
});

test('what cannot be delivered in time is given up when the client closes', async () => {
  const errors: string[] = [];
  const analytics = connect({
    // Nothing listens on the port that only root may use.
    kafka: { brokers: ['127.0.0.1:1'], topic },
    onError: ({ code }) => errors.push(code),
  });
  analytics.identify({ userId: 'u' });
  await assert.rejects(analytics.close({ timeoutMs: 500 }), { code: 'calls-lost' });
  assert.deepEqual(errors, ['not-delivered']);
});

for (const [name, text] of Object.entries(kafkaPrograms)) {
  test(`the packed client writes to Kafka: ${name}, with each Node.js that is there`, async () => {
    const file = await consumer.write(name, text);
    for (const node of await nodes()) {
      const { stdout } = await run(node, [file, deployment.brokers[0] ?? '', topic]);
      assert.ok((await written()).has(stdout.trim()), stdout);
    }
  });
}

test('an application that uses kafkajs itself reads with it as before', async () => {
  const file = await consumer.write('read-back.mjs', readBackProgram);
  const timeout = 20_000;
  const { stdout } = await run(process.execPath, [file, deployment.brokers[0] ?? '', topic], {
    timeout,
  });
  assert.ok((await written()).has(stdout.trim()), stdout);
});

test("the README's example writes its call", async () => {
  const code = (await readmeExamples()).get('kafka.mjs') ?? assert.fail('no example');
  const file = await consumer.write('example.mjs', code);
  const before = (await written()).size;
  await run(process.execPath, [file], {
    env: { KAFKA_BROKERS: deployment.brokers.join(','), CALLS_TOPIC: topic },
  });
  assert.equal((await written()).size, before + 1);
});

test('the example of typed calls writes its call with the published schema, once its package is there', async (context) => {
  const registry = await startFaultyRegistry();
  context.after(() => registry.stop());
  const typed = await makeTopic(deployment.kafka, 1);
  const access = { url: registry.url };
  const { id } = await registerSchema(new RegistryClient(access), ingestSubject(typed));
  const code = (await readmeExamples('docs/sending.md')).get('typed.mjs') ?? assert.fail('none');
  const env = {
    KAFKA_BROKERS: deployment.brokers.join(','),
    CALLS_TOPIC: typed,
    SCHEMA_REGISTRY_URL: registry.url,
  };
  const files = [
    await consumer.write('typed.mjs', code),
    await consumer.write(
      'typed.cjs',
      `const { Analytics } = require('postrider-client');(async () => {${code.replace(/^import .*/, '')}})()`,
    ),
  ];
  for (const file of files) {
    await assert.rejects(run(process.execPath, [file], { env }), {
      code: 1,
      stderr:
        /with a registry needs the package (@kafkajs\/confluent-schema-registry), which is not installed: npm install \1\)/,
    });
  }
  await consumer.link('@kafkajs/confluent-schema-registry');
  let written = 0;
  for (const file of files) {
    for (const node of await nodes()) {
      await run(node, [file], { env });
      written += 1;
    }
  }
  const records = await readAll(deployment.kafka, typed);
  assert.deepEqual(
    records.map(({ value }) => value?.readUInt32BE(1)),
    Array<number>(written).fill(id),
  );
});
