import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFullListener } from './full-listener.ts';
import { createSender, leadingTo, post } from './sender-scene.ts';

test('an address that takes its time is waited for, though there is another one', async () => {
  const { port, accept } = await startFullListener();
  const resolver = leadingTo('127.0.0.1', '127.0.0.2');
  const sender = createSender({ resolver, timeoutMs: 20_000 });
  const result = post(`http://crm.example:${port}/`, { sender });
  setTimeout(accept, 500);
  assert.equal((await result).verdict, 'delivered');
});
