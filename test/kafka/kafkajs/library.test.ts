import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { kafkajs, requireOwn } from '../../../src/kafka/kafkajs/library.ts';
import { ShortStayTable, type frameRequest } from '../../../src/kafka/kafkajs/replacements.ts';

const require = createRequire(import.meta.url);

test('kafkajs as others in the process use it is another one', () => {
  const theirs = require('kafkajs') as typeof kafkajs;
  assert.notEqual(theirs.Kafka, kafkajs.Kafka);
  const path = 'src/network/requestQueue';
  assert.notEqual(require(`kafkajs/${path}`), requireOwn(path));
});

test('its inside is that of the version which is known here', () => {
  const { version } = require('kafkajs/package.json') as { readonly version: string };
  const { dependencies } = require('../../../package.json') as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  assert.equal(dependencies['kafkajs'], version);
});

test('a partition without a leader fails no question about the others', async () => {
  const answer = requireOwn('src/protocol/requests/metadata/v0/response') as {
    parse(decoded: object): Promise<object>;
  };
  const leaderNotAvailable = 5;
  const partition = (partitionErrorCode: number): object => ({ partitionErrorCode, leader: -1 });
  const topicMetadata = [
    { topicErrorCode: 0, partitionMetadata: [partition(leaderNotAvailable), partition(0)] },
  ];
  await assert.doesNotReject(answer.parse({ topicMetadata }));
});

test('requests that wait for an answer stand in a table for short stays', () => {
  const RequestQueue = requireOwn('src/network/requestQueue') as new (options: object) => {
    readonly inflight: unknown;
  };
  assert.ok(new RequestQueue({}).inflight instanceof ShortStayTable);
});

test('requests are framed to the same bytes as by kafkajs', async () => {
  const original = require('kafkajs/src/protocol/request') as typeof frameRequest;
  const framed = requireOwn('src/protocol/request') as typeof frameRequest;
  const request = { apiKey: 1, apiVersion: 11, encode: () => Promise.resolve(payload) };
  const payload = { buf: Buffer.from('payload'), buffer: Buffer.from('payload') };
  for (const clientId of ['postrider', 'pößt', null]) {
    const frame = { correlationId: 0x7fffffff, clientId, request };
    const expected = await original(frame);
    const bytes = await framed(frame);
    assert.ok(bytes.buffer.equals(expected.buffer));
    assert.equal(bytes.buf.length, expected.buffer.length);
  }
});
