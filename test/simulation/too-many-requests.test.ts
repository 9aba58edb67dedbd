import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerOk, failsWith, hourMs } from '../delivery/simulated-world.ts';
import { Scene } from './scene.ts';

/** Takes 20 requests a second, as many of them at once as it did not get in the second before. */
function twentyPerSecond(retryAfterMs?: number): (nowMs: number) => typeof answerOk {
  let tokens = 20;
  let countedMs = 0;
  return (nowMs) => {
    tokens = Math.min(20, tokens + ((nowMs - countedMs) * 20) / 1_000);
    countedMs = nowMs;
    if (tokens < 1) return { ...failsWith(429, retryAfterMs), afterMs: 5 };
    tokens -= 1;
    return { ...answerOk, afterMs: 5 };
  };
}

describe('an endpoint that answers 429 when it gets more than 20 requests a second', () => {
  for (const retryAfterMs of [undefined, 0, 1_000])
    test(`gets hardly more, with Retry-After: ${retryAfterMs ?? 'none'}`, async () => {
      const scene = new Scene();
      const { world } = scene;
      world.addDestination('limited');
      world.addDestination('other');
      const limited = twentyPerSecond(retryAfterMs);
      world.answer = (url, _sending, nowMs) =>
        url.includes('limited') ? limited(nowMs) : { ...answerOk, afterMs: 20 };
      const offered = [
        { destination: 'limited', perSecond: 60 },
        { destination: 'other', perSecond: 10 },
      ];
      await scene.run(60_000, offered);
      const whileOffered = scene.delivered(0, 'limited');
      assert.ok(whileOffered >= 60 * 15, `${whileOffered} delivered in a minute`);
      const p99Ms = scene.p99Ms('other');
      assert.ok(p99Ms <= 100, `p99 of the other one: ${p99Ms} ms`);
      await world.clock.pass(4 * hourMs);
      const requests = world.requests.filter(({ url }) => url.includes('limited')).length;
      const each = requests / scene.delivered(0, 'limited');
      assert.ok(each <= 1.3, `${each} requests for each event delivered`);
    });
});
