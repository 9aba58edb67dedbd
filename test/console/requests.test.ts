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

test('long answers are compressed for who takes that, and those that hold a token never', async (t) => {
  const stand = await startStand(t);
  const ask = async (path: string, encoding: string): Promise<readonly [string | null, string]> => {
    const headers = { 'accept-encoding': encoding };
    const answer = await fetch(`${stand.url}/api/v1/${path}`, { headers });
    return [answer.headers.get('content-encoding'), await answer.text()];
  };
  const [packed, text] = await ask('openapi.json', 'br, gzip');
  assert.deepEqual(await ask('openapi.json', 'identity'), [null, text]);
  assert.equal(packed, 'gzip');
  assert.match(text, /^\{"openapi":"3\.1\.0".*\}$/);
  const [asIs] = await ask('session', 'gzip');
  assert.equal(asIs, null);
});
