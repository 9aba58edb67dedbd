import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findConnectionProblem } from '../../src/kafka/reach.ts';

const options = { brokers: ['127.0.0.1:1'], clientId: 'test' };

function failedLogin(reason: string): Error {
  const message = `SASL SCRAM SHA512 authentication failed: ${reason}`;
  return Object.assign(new Error(message), { name: 'KafkaJSSASLAuthenticationError' });
}

test('a broker that goes away during a login has not refused it', async () => {
  for (const reason of [
    'Closed connection',
    'Connection error: read ECONNRESET',
    'Connection timeout',
    'Request SaslAuthenticate(key: 36, version: 1) timed out',
  ]) {
    assert.equal(await findConnectionProblem(failedLogin(reason), options), undefined, reason);
  }
});

test('a refused login is found in what kafkajs wraps it in', async () => {
  const wrapped = new Error('retries exceeded', { cause: failedLogin('invalid credentials') });
  assert.equal(await findConnectionProblem(wrapped, options), 'credentials-refused');
});

test('a broker that hangs up and is gone may come back', async () => {
  const hungUp = Object.assign(new Error('Closed connection'), {
    name: 'KafkaJSConnectionClosedError',
  });
  assert.equal(await findConnectionProblem(hungUp, options), undefined);
});
