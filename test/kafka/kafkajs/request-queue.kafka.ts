import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { testKafka } from '../topics.ts';

test('idle connections arm no timers', async () => {
  const kafka = await testKafka();
  const admins = [kafka.admin(), kafka.admin(), kafka.admin()];
  await Promise.all(admins.map((admin) => admin.connect()));
  for (const admin of admins) await admin.describeCluster();

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
  await Promise.all(admins.map((admin) => admin.disconnect()));
});
