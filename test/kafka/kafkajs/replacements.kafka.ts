import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createProducingClient } from '../../../src/kafka/producing-client.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { testBroker } from '../../harness/broker.ts';
import { testKafka } from '../topics.ts';

test('idle connections arm no timers', async () => {
  const kafka = await testKafka();
  const admins = [kafka.admin(), kafka.admin(), kafka.admin()];
  await Promise.all(admins.map((admin) => admin.connect()));
  for (const admin of admins) await admin.describeCluster();
  await assertFewTimers();
  await Promise.all(admins.map((admin) => admin.disconnect()));
});

test('nor do those of a process with a kafkajs in which nothing is replaced', async (context) => {
  const { brokers } = await testBroker();
  const options = { brokers, clientId: 'test', ssl: undefined, sasl: undefined };
  const cluster = createProducingClient(options, silentLogger).openCluster();
  context.after(() => {
    cluster.close();
  });
  await cluster.refresh([]);
  await assertFewTimers();
});

async function assertFewTimers(): Promise<void> {
  let timers = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'Timeout') timers += 1;
    },
  });
  hook.enable();
  await delay(300);
  hook.disable();
  // One is the line above. Unpatched, kafkajs arms about 900 a second for each connection.
  assert.ok(timers <= 5, `${timers} timers in 0.3 s`);
}
