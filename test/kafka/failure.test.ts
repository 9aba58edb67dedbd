import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminError, failureNamed, failureOf } from '../../src/kafka/failure.ts';
import { kafkaError } from './batches.ts';

test('the reason is what Kafka answered, however kafkajs wrapped it', () => {
  const answered = kafkaError('MESSAGE_TOO_LARGE');
  const wrapped = Object.assign(new Error('retries', { cause: answered }), {
    name: 'KafkaJSNumberOfRetriesExceeded',
  });
  assert.equal(failureOf(wrapped).reason, 'MESSAGE_TOO_LARGE');
});

test('without an answer, the reason is the error’s name', () => {
  const error = Object.assign(new Error('refused'), { name: 'KafkaJSConnectionError' });
  assert.deepEqual(failureOf(error), { reason: 'KafkaJSConnectionError', message: 'refused' });
});

test('what is no error at all has a reason too', () => {
  for (const thrown of ['oops', null, undefined])
    assert.deepEqual(failureOf(thrown), { reason: 'Error', message: String(thrown) });
});

test('a failure says what Kafka adds to its name', () => {
  assert.deepEqual(failureNamed('INVALID_RECORD', 'no key'), {
    reason: 'INVALID_RECORD',
    message: 'INVALID_RECORD, no key',
  });
  assert.equal(failureNamed('INVALID_RECORD', null).message, 'INVALID_RECORD');
});

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
