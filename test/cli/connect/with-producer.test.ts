import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withProducer } from '../../../src/cli/connect/with-producer.ts';
import type { Context } from '../../../src/cli/context.ts';
import { silentLogger } from '../../../src/ops/log.ts';

/** Of a command while Kafka is away. */
function context(): Context {
  const away = Object.assign(new Error('connect ECONNREFUSED'), { name: 'KafkaJSConnectionError' });
  const kafka = {
    openCluster: () => ({ refresh: () => Promise.reject(away), close: () => undefined }),
    compressor: {},
  };
  return { kafka, log: silentLogger } as unknown as Context;
}

test('a command that gives up does not wait for Kafka any longer', async () => {
  const use = (): never => assert.fail('there is nothing to write with');
  assert.equal(await withProducer(context(), use, Promise.resolve('given up')), 'given up');
  const stopped = new Error('stopped');
  await assert.rejects(withProducer(context(), use, Promise.reject(stopped)), stopped);
});
