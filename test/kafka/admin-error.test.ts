import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminError, retryWhileUnsettled } from '../../src/kafka/admin-error.ts';
import { kafkaError } from './batches.ts';

test('what Kafka did not answer means that it is unavailable', () => {
  for (const name of ['KafkaJSConnectionError', 'KafkaJSRequestTimeoutError']) {
    const error = adminError(Object.assign(new Error('connect ECONNREFUSED'), { name }));
    assert.equal(error.code, 'kafka-unavailable');
    assert.equal(error.message, 'Kafka cannot be reached: connect ECONNREFUSED');
  }
});

test('an unknown topic is not found', () => {
  const error = adminError(kafkaError('UNKNOWN_TOPIC_OR_PARTITION'), 'orders');
  assert.equal(error.code, 'not-found');
  assert.equal(error.message, 'Topic orders does not exist');
});

test('a right that is missing is told with what it is about', () => {
  for (const [type, about] of [
    ['TOPIC_AUTHORIZATION_FAILED', 'topic orders'],
    ['GROUP_AUTHORIZATION_FAILED', 'group orders'],
    ['TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'transactional id orders'],
  ] as const) {
    const error = adminError(kafkaError(type), 'orders');
    assert.equal(error.code, 'kafka-refused');
    assert.equal(error.message, `Kafka's ACLs refuse this principal what it needs of ${about}`);
  }
});

test('any other answer of Kafka is a refusal with its reason', () => {
  const error = adminError(kafkaError('POLICY_VIOLATION'), 'orders');
  assert.equal(error.code, 'kafka-refused');
  assert.equal(error.message, 'Kafka refused for orders: policy_violation');
});

test('of several topics, each that was refused is named', () => {
  const errors = [
    Object.assign(kafkaError('INVALID_CONFIG'), { topic: 'a' }),
    Object.assign(kafkaError('INVALID_PARTITIONS'), { topic: 'b' }),
  ];
  const error = adminError(
    Object.assign(new Error('Topic creation errors'), { name: 'KafkaJSAggregateError', errors }),
  );
  assert.equal(error.code, 'kafka-refused');
  assert.equal(error.message, 'Kafka refused: a: invalid_config; b: invalid_partitions');
});

test('while any topic has no leader yet, the question is asked again', async () => {
  const errors = [kafkaError('LEADER_NOT_AVAILABLE'), new TypeError('topicMetadata of null')];
  const answer = await retryWhileUnsettled(() => {
    const error = errors.shift();
    return error === undefined ? Promise.resolve(7) : Promise.reject(error);
  });
  assert.equal(answer, 7);
});

test('what passes by itself is asked again for its time, not longer', async () => {
  const reasons = ['NOT_LEADER_FOR_PARTITION'];
  let asks = 0;
  const question = (): Promise<never> => {
    asks += 1;
    return Promise.reject(kafkaError('NOT_LEADER_FOR_PARTITION'));
  };
  await assert.rejects(retryWhileUnsettled(question, { forMs: 100, reasons }));
  assert.equal(asks, 2);
  await assert.rejects(retryWhileUnsettled(question));
  assert.equal(asks, 3);
});

test('any other failure is not repeated', async () => {
  let asks = 0;
  const question = (): Promise<never> => {
    asks += 1;
    return Promise.reject(kafkaError('INVALID_CONFIG'));
  };
  await assert.rejects(retryWhileUnsettled(question));
  assert.equal(asks, 1);
});
