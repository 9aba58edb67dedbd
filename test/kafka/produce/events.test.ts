import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProducerEvents } from '../../../src/kafka/produce/events.ts';
import { failureNamed } from '../../../src/kafka/failure.ts';
import { SimulatedClock } from '../../delivery/simulated-clock.ts';
import { keptLog } from './scene.ts';

test('each reason is counted each time, and said once in ten seconds', async () => {
  const clock = new SimulatedClock();
  const { log, lines } = keptLog();
  const reasons: string[] = [];
  const events = new ProducerEvents(log, clock, { failed: (reason) => reasons.push(reason) });
  const fail = (reason: string): void => {
    events.failed(failureNamed(reason), { failures: 1, topics: ['a'], queuedRecords: 1 });
  };
  for (const reason of ['A', 'B', 'A']) fail(reason);
  await clock.pass(9_999);
  fail('A');
  const what = 'Kafka did not accept a batch; trying again';
  assert.deepEqual(lines, [`${what}: A`, `${what}: B`]);
  await clock.pass(1);
  fail('A');
  assert.equal(lines.length, 3);
  assert.deepEqual(reasons, ['A', 'B', 'A', 'A', 'A']);
});

test('a line says what the name of the error does not', () => {
  const { log, lines } = keptLog();
  const events = new ProducerEvents(log, new SimulatedClock(), {});
  events.unknown('a', failureNamed('TOPIC_AUTHORIZATION_FAILED'));
  assert.deepEqual(lines, [
    "Records wait for topic a: TOPIC_AUTHORIZATION_FAILED: Kafka's ACLs do not let this principal write to the topic",
  ]);
});
