import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import '../../../src/kafka/kafkajs/library.ts';
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
