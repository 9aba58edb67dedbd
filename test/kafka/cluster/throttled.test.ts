import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { createKafka } from '../../../src/kafka/client.ts';
import { silentLogger, type Logger } from '../../../src/ops/log.ts';
import { eventually } from '../../harness/eventually.ts';
import { passTime } from '../fetch/passing-time.ts';
import {
  apiVersionsKey,
  metadataAnswer,
  metadataKey,
  startWireBroker,
  versionsAnswer,
} from '../wire-broker.ts';

const topicId = 'ab'.repeat(16);
const throttleMs = 60_000;
/** Behind the tags of the header. */
const throttleAt = 1;

test('a quota is told in log and metric, and a deadline begins when the pause is over', async (t) => {
  const sockets = new Set<Socket>();
  const address = await startWireBroker(t, ({ apiKey, port, framed }, socket) => {
    sockets.add(socket);
    if (apiKey === apiVersionsKey) socket.write(framed(versionsAnswer({ [metadataKey]: 12 })));
    if (apiKey !== metadataKey) return;
    const answer = metadataAnswer(port, topicId);
    if (sockets.size === 1) answer.writeInt32BE(throttleMs, throttleAt);
    socket.write(framed(answer));
  });
  const told: object[] = [];
  const log: Logger = { ...silentLogger, warn: (fields) => told.push(fields) };
  const kafka = createKafka({ brokers: [address], clientId: 'test' }, log);
  const registry = new Registry();
  kafka.throttling.expose(registry);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const passByClock = passTime(t);
  const pass = async (ms: number): Promise<void> => {
    passByClock(ms);
    t.mock.timers.tick(ms);
    await nextTurn();
  };
  const cluster = kafka.openCluster();
  t.after(() => {
    cluster.close();
  });
  await cluster.refresh(['t']);
  assert.deepEqual(told, [{ broker: address, request: 'Metadata', throttleMs, unlogged: 0 }]);
  assert.match(
    await registry.metrics(),
    /postrider_kafka_throttled_seconds_total\{request="Metadata"\} 60/,
  );

  let isAnswered = false;
  void cluster.refresh(['t']).then(() => (isAnswered = true));
  for (let passedMs = 0; passedMs < throttleMs - 1_000; passedMs += 1_000) await pass(1_000);
  assert.equal(isAnswered, false);
  assert.equal(sockets.size, 1);
  // This broker reads nothing when the pause is over, so another connection is tried.
  for (let passedMs = 0; passedMs < 8_000; passedMs += 1_000) await pass(1_000);
  await eventually(() => {
    assert.equal(isAnswered, true);
  });
  assert.equal(sockets.size, 2);
});
