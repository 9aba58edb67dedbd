import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import '../../../src/kafka/kafkajs/library.ts';
import type { frameRequest } from '../../../src/kafka/kafkajs/request-frame.ts';
import { ShortStayTable } from '../../../src/kafka/kafkajs/short-stay-table.ts';

const require = createRequire(import.meta.url);

test('requests that wait for an answer stand in a table for short stays', () => {
  const RequestQueue = require('kafkajs/src/network/requestQueue') as new (options: object) => {
    readonly inflight: unknown;
  };
  assert.ok(new RequestQueue({}).inflight instanceof ShortStayTable);
});

test('and so do the partitions that a consumer hands over', async (t) => {
  const createFetchManager = require('kafkajs/src/consumer/fetchManager') as (options: object) => {
    start(): Promise<void>;
    stop(): Promise<void>;
  };
  const logger = { namespace: () => logger, debug: () => undefined };
  const set = t.mock.method(ShortStayTable.prototype, 'set');
  const manager = createFetchManager({
    logger,
    getNodeIds: () => [1],
    fetch: () => Promise.resolve([{ topic: 'calls', partition: 3 }]),
    handler: () => {
      void manager.stop();
      return Promise.resolve();
    },
  });
  await manager.start();
  assert.deepEqual(set.mock.calls[0]?.arguments, ['calls|3', 1]);
});

test('requests are framed to the same bytes as by kafkajs', async () => {
  const path = require.resolve('kafkajs/src/protocol/request');
  const framed = require(path) as typeof frameRequest;
  const { [path]: replaced } = require.cache;
  Reflect.deleteProperty(require.cache, path);
  const original = require(path) as typeof frameRequest;
  require.cache[path] = replaced;
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
