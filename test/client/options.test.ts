import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Analytics,
  type AnalyticsOptions,
  type KafkaTransportOptions,
} from '../../src/client/index.ts';

test('options that cannot work are refused by name', () => {
  const wrong: [AnalyticsOptions, RegExp][] = [
    [{ size: 0 }, /^size is 0, allowed: a whole number from 1\.$/],
    [{ flushAt: 1.5 }, /^flushAt is 1\.5/],
    [{ flushAfter: -1 }, /^flushAfter is -1/],
    [{ flushAfter: 2 ** 31 }, /^flushAfter is/],
    [{ maxQueued: Infinity }, /^maxQueued is Infinity/],
    [{ endpoint: 'localhost:8080' }, /^endpoint is "localhost:8080"/],
    [{ endpoint: 'ftp://localhost' }, /^endpoint is "ftp:\/\/localhost"/],
    [{ endpoint: 'http://key:word@localhost' }, /^endpoint is "http:\/\/…@localhost", allowed: /],
    [{ endpoint: 'http://:word@localhost' }, /^endpoint is "http:\/\/…@localhost", allowed: /],
    [{ transport: 'tcp' as 'http' }, /^transport is "tcp", allowed: 'http' or 'kafka'/],
    [{ transport: 'kafka' }, /^kafka is undefined, allowed: \{ brokers: \['host:port', …\] \}\.$/],
    [
      { kafka: { brokers: ['127.0.0.1:9092'] } },
      /^kafka is given without a transport: add transport: 'kafka', or 'http' if calls are to go to the endpoint\.$/,
    ],
    [
      { onError: 'log' } as unknown as AnalyticsOptions,
      /^onError is "log", allowed: a function\.$/,
    ],
    [{ onDelivered: {} } as AnalyticsOptions, /^onDelivered is .+, allowed: a function\.$/],
    [null as unknown as AnalyticsOptions, /^options is null, allowed: an object\.$/],
    [['x'] as AnalyticsOptions, /^options is x, allowed: an object\.$/],
    ['x' as AnalyticsOptions, /^options is "x", allowed: an object\.$/],
    [
      { host: 'http://localhost' } as AnalyticsOptions,
      /^host is not an option, allowed: endpoint, /,
    ],
  ];
  for (const [options, message] of wrong) {
    assert.throws(() => new Analytics('wk', options), { code: 'invalid-option', message });
  }
  assert.throws(() => new Analytics(''), { code: 'invalid-option', message: /^writeKey is ""/ });
});

test('options for Kafka that cannot work are refused by name', () => {
  const brokers = ['127.0.0.1:9092'];
  const sasl = { mechanism: 'plain', username: 'me', password: 'word' };
  const wrong: [unknown, RegExp][] = [
    ['127.0.0.1:9092', /^kafka is "127\.0\.0\.1:9092", allowed: \{ brokers: /],
    [{}, /^kafka\.brokers is undefined, allowed: \['host:port', …\]\.$/],
    [{ brokers: [] }, /^kafka\.brokers is /],
    [
      { brokers: [...brokers, 'kafka'] },
      /^kafka\.brokers\[1\] is "kafka", allowed: 'host:port'\.$/,
    ],
    [{ brokers: ['kafka:0'] }, /^kafka\.brokers\[0\] is "kafka:0"/],
    [{ brokers: ['kafka:65536'] }, /^kafka\.brokers\[0\] is "kafka:65536"/],
    [{ brokers: ['::1:9092'] }, /^kafka\.brokers\[0\] is "::1:9092"/],
    [{ brokers: ['a:9092,b:9092'] }, /^kafka\.brokers\[0\] is "a:9092,b:9092"/],
    [{ brokers: ['tcp://me:word@kafka:9092'] }, /^kafka\.brokers\[0\] is "tcp:\/\/…@kafka:9092"/],
    [{ brokers: [undefined] }, /^kafka\.brokers\[0\] is undefined/],
    [{ brokers, topic: '' }, /^kafka\.topic is "", allowed: 1 to 249 letters, /],
    [{ brokers, topic: 'a b' }, /^kafka\.topic is "a b"/],
    [{ brokers, topic: '..' }, /^kafka\.topic is "\.\."/],
    [{ brokers, topic: null }, /^kafka\.topic is null/],
    [
      { brokers, topics: 'calls' },
      /^kafka\.topics is not an option, allowed: brokers, topic, clientId, /,
    ],
    [
      { brokers, ssl: 'true' },
      /^kafka\.ssl is "true", allowed: true, false or \{ ca, cert, key \}/,
    ],
    [
      { brokers, ssl: { certificate: 'x' } },
      /^kafka\.ssl\.certificate is not an option, allowed: ca, cert, key\.$/,
    ],
    [{ brokers, sasl: 'word' }, /^kafka\.sasl is not an object, allowed: \{ mechanism, username, /],
    [
      { brokers, sasl: { ...sasl, user: 'me' } },
      /^kafka\.sasl\.user is not an option, allowed: mechanism, username, password\.$/,
    ],
    [
      { brokers, sasl: { ...sasl, mechanism: 'scram' } },
      /^kafka\.sasl\.mechanism is "scram", allowed: plain, scram-sha-256, scram-sha-512\.$/,
    ],
    [
      { brokers, sasl: { ...sasl, username: undefined } },
      /^kafka\.sasl\.username is of the type undefined, allowed: a text, not empty\.$/,
    ],
    [
      { brokers, registry: 'http://registry' },
      /^kafka\.registry is "http:\/\/registry", allowed: \{ url: 'https:\/\/…' \}\.$/,
    ],
    [
      { brokers, registry: {} },
      /^kafka\.registry\.url is undefined, allowed: an http or https URL/,
    ],
    [
      { brokers, registry: { url: 'http://me:word@registry' } },
      /^kafka\.registry\.url is "http:\/\/…@registry", allowed: an http or https URL without/,
    ],
    [
      { brokers, registry: { url: 'http://registry', user: 'me' } },
      /^kafka\.registry\.user is not an option, allowed: url, subject, username, password, ssl\.$/,
    ],
    [
      { brokers, registry: { url: 'http://registry', username: 'me' } },
      /^kafka\.registry\.password is of the type undefined, allowed: a text, not empty\.$/,
    ],
    [
      { brokers, registry: { url: 'https://registry', ssl: true } },
      /^kafka\.registry\.ssl is true, allowed: \{ ca, cert, key \}\.$/,
    ],
    [
      { brokers, sasl: { ...sasl, password: '' } },
      /^kafka\.sasl\.password is empty, allowed: a text, not empty\.$/,
    ],
    [
      { brokers, sasl: { ...sasl, password: Buffer.from('word') } },
      /^kafka\.sasl\.password is of the type object, allowed: a text, not empty\.$/,
    ],
  ];
  for (const [kafka, message] of wrong) {
    const options = { transport: 'kafka', kafka } as AnalyticsOptions;
    assert.throws(() => new Analytics('wk', options), { code: 'invalid-option', message });
  }
});

test('brokers may be names and addresses of either kind', async () => {
  const brokers = ['localhost:9092', 'kafka_1.example.com:9092', '10.0.0.1:1', '[::1]:65535'];
  const options: AnalyticsOptions = {
    transport: 'kafka',
    kafka: { brokers, topic: 'My_calls-1.' },
  };
  await new Analytics('wk', options).close();
});

test('ssl and sasl may be all that is documented', async () => {
  const kafka = { brokers: ['127.0.0.1:9092'] };
  const sasl = { username: 'me', password: 'word' };
  const right: KafkaTransportOptions[] = [
    { ...kafka, ssl: true, sasl: { ...sasl, mechanism: 'plain' } },
    { ...kafka, ssl: false, sasl: { ...sasl, mechanism: 'scram-sha-256' } },
    { ...kafka, ssl: { ca: undefined }, sasl: { ...sasl, mechanism: 'scram-sha-512' } },
    { ...kafka, ssl: { ca: 'a', cert: 'c', key: 'k' }, sasl: undefined },
  ];
  for (const each of right) await new Analytics('wk', { transport: 'kafka', kafka: each }).close();
  await new Analytics('wk', { transport: 'http', kafka }).close();
});
