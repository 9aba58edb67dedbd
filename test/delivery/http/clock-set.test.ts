import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SimulatedClock } from '../simulated-clock.ts';
import { closeAfterwards, createSender, listen, post, timeoutMs } from './sender-scene.ts';

test('a clock that is set forward ends no attempt, and makes none longer', async () => {
  const server = createServer();
  const url = `http://127.0.0.1:${await listen(server)}`;
  closeAfterwards(() => {
    server.closeAllConnections();
  });
  const clock = new SimulatedClock();
  const sender = createSender({ clock });
  const begin = async (): Promise<{ result: ReturnType<typeof post>; answer: () => void }> => {
    const asked = once(server, 'request') as Promise<[unknown, ServerResponse]>;
    const result = post(url, { sender });
    const [, response] = await asked;
    return { result, answer: () => response.end() };
  };
  // The wake-up that its deadline asked for comes in the middle of the next attempt.
  const first = await begin();
  first.answer();
  await first.result;
  await clock.pass(timeoutMs - 50);
  const second = await begin();
  clock.set(3_600_000);
  await clock.pass(100);
  await nextTurn();
  second.answer();
  const { verdict, tookMs } = await second.result;
  assert.deepEqual([verdict, tookMs], ['delivered', 100]);
});
