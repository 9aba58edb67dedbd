import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeLogger } from '../kafka/fake-logger.ts';
import { Browser, startStand } from './access/stand.ts';

test('the log tells of a request that has failed without whom and what it asked about', async (t) => {
  const log = new FakeLogger();
  const explain = (): Promise<never> => Promise.reject(new Error('broken'));
  const stand = await startStand(t, {}, { log, explain });
  const browser = new Browser(stand.url);
  const { status } = await browser.get('/api/v1/events?message=order-of-alice&user=alice%40shop');
  assert.equal(status, 500);
  const [line] = log.visible;
  assert.match(line ?? '', /^warn: a request to the console has failed .*\/api\/v1\/events/);
  assert.doesNotMatch(log.visible.join(), /alice/);
});
