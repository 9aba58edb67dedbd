import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Analytics } from '../../src/client/index.ts';
import { startSilentBroker } from './silent-broker.ts';

const moments = {
  'while the first connection is made': 0,
  'while the topic is looked up': 2,
  'while a producer id is asked for': 3,
  'while a batch is written': 4,
};
/** Much longer than closing takes, and shorter than what a broker that hangs holds a batch up for. */
const timeout = 10_000;

for (const [moment, answers] of Object.entries(moments)) {
  test(
    `close keeps its time when a broker falls silent ${moment}`,
    { timeout },
    async (context) => {
      const topic = 'calls';
      const broker = await startSilentBroker(topic, answers);
      context.after(() => broker.close());
      const errors: string[] = [];
      const analytics = new Analytics('wk_shop', {
        ...{ transport: 'kafka', kafka: { brokers: [broker.address], topic } },
        onError: ({ code }) => errors.push(code),
      });
      analytics.identify({ userId: 'u' });
      analytics.flush().catch(() => undefined);
      await broker.fallenSilent;
      await assert.rejects(analytics.close({ timeoutMs: 100 }), { code: 'calls-lost' });
      assert.deepEqual(errors, ['not-delivered']);
    },
  );
}
