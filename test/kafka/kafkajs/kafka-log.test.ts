import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kafkaLog, type KafkaLogEntry } from '../../../src/kafka/kafkajs/kafka-log.ts';
import type { Logger } from '../../../src/ops/log.ts';

const [error, warning, information] = [1, 2, 4];

function recorder() {
  const lines: { level: string; fields: object; message: string }[] = [];
  const at = (level: string) => (fields: object, message: string) => {
    lines.push({ level, fields, message });
  };
  const log: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => log,
  };
  let now = 0;
  const clock = { now: () => now, after: () => ({ cancel: () => undefined }) };
  const write = kafkaLog(log, clock);
  return {
    lines,
    pass: (ms: number) => {
      now += ms;
    },
    entry: (level: number, message: string, fields: object = {}, namespace = 'Connection') => {
      const log: KafkaLogEntry['log'] = { timestamp: 'T', logger: 'kafkajs', message, ...fields };
      write({ namespace, level, log });
    },
    levels: () => lines.map(({ level }) => level),
  };
}

test('routine is debug', () => {
  const { entry, levels } = recorder();
  entry(information, 'Consumer has joined the group');
  assert.deepEqual(levels(), ['debug']);
});

test('trouble is a warning, without a stack and without kafkajs’s own time', () => {
  const { entry, lines } = recorder();
  entry(error, 'Connection timeout', { broker: 'b:1', stack: 'Error\n  at' });
  assert.deepEqual(lines, [
    { level: 'warn', fields: { broker: 'b:1' }, message: 'Kafka client: Connection timeout' },
  ]);
});

test('what a fresh broker answers, and kafkajs repeats by itself, is no warning', () => {
  const { entry, levels } = recorder();
  const fields = { error: 'The group coordinator is not available' };
  entry(error, 'Response GroupCoordinator(key: 10, version: 2)', fields);
  entry(error, 'Response InitProducerId(key: 22, version: 1)', {
    error: 'The coordinator is loading and hence can not process requests',
  });
  assert.deepEqual(levels(), ['debug', 'debug']);
});

test('what happens while topics are new and consumers are replaced is no warning', () => {
  const { entry, levels } = recorder();
  entry(error, 'Response ListOffsets(key: 2, version: 3)', {
    error: 'This server is not the leader for that topic-partition',
  });
  entry(error, 'Connection error: write after end');
  entry(error, 'Crash: KafkaJSNoBrokerAvailableError: No broker available', {}, 'Consumer');
  entry(error, 'Restarting the consumer in 214ms', {}, 'Consumer');
  assert.deepEqual(levels(), ['debug', 'debug', 'debug', 'debug']);
});

test('a rebalance is no warning', () => {
  const { entry, levels } = recorder();
  const fields = { error: 'The group is rebalancing, so a rejoin is needed' };
  entry(error, 'Response Heartbeat(key: 12, version: 3)', fields);
  entry(warning, 'The group is rebalancing, re-joining', {}, 'Runner');
  assert.deepEqual(levels(), ['debug', 'debug']);
});

test('a failed call of the producer is left to the producer’s own line', () => {
  const { entry, levels } = recorder();
  entry(error, 'Response Produce(key: 0, version: 7)', { error: 'not the leader' });
  entry(error, 'Failed to send messages: not the leader', {}, 'Producer');
  assert.deepEqual(levels(), ['debug', 'debug']);
});

test('a warning that repeats is written once in ten seconds', () => {
  const { entry, levels, pass } = recorder();
  entry(error, 'Connection timeout');
  entry(error, 'Connection timeout');
  entry(error, 'Connection error: refused');
  assert.equal(levels().length, 2);
  pass(10_000);
  entry(error, 'Connection timeout');
  assert.equal(levels().length, 3);
});
