import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLeaderDoubted, judgeAnswer } from '../../../src/kafka/produce/judge-answer.ts';

test('only what says something about the records condemns them', () => {
  for (const error of ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD'])
    assert.equal(judgeAnswer(error), 'condemned');
});

test('a batch that Kafka has had before is written', () => {
  assert.equal(judgeAnswer('DUPLICATE_SEQUENCE_NUMBER'), 'written');
});

test('an error that may mean another leader has somebody else asked', () => {
  for (const error of [
    'NOT_LEADER_FOR_PARTITION',
    'LEADER_NOT_AVAILABLE',
    'UNKNOWN_TOPIC_OR_PARTITION',
    'KAFKA_STORAGE_ERROR',
    'FENCED_LEADER_EPOCH',
    'REQUEST_TIMED_OUT',
    'PartitionUnanswered',
  ])
    assert.equal(judgeAnswer(error), 'elsewhere');
});

test('a leader that lacks replicas is doubted, and gets the same bytes later', () => {
  for (const error of ['NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND']) {
    assert.equal(judgeAnswer(error), 'again');
    assert.equal(isLeaderDoubted(error), true);
  }
});

test('an error that another leader would not answer differently has nobody else asked', () => {
  for (const error of ['TOPIC_AUTHORIZATION_FAILED', 'CLUSTER_AUTHORIZATION_FAILED']) {
    assert.equal(judgeAnswer(error), 'again');
    assert.equal(isLeaderDoubted(error), false);
  }
});

test('what nobody here has heard of is sent again', () => {
  assert.equal(judgeAnswer('ERROR_999'), 'elsewhere');
});
