import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { eventually } from '../../harness/eventually.ts';
import { createSender, post, rawServer } from './sender-scene.ts';

/** undici counts half-seconds, with one timer after the other. */
async function pass({ mock }: TestContext, seconds: number): Promise<void> {
  for (let halves = 0; halves < 2 * seconds; halves += 1) {
    mock.timers.tick(500);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

for (const [what, header, keptS, closedS] of [
  ['after half a minute', '', 28, 34],
  ['as soon as its endpoint asks for', 'Keep-Alive: timeout=10\r\n', 5, 14],
  ['after a minute at the latest', 'Keep-Alive: timeout=3600\r\n', 56, 64],
] as const)
  test(`a connection that is not used any more is closed ${what}`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const sockets: Socket[] = [];
    const { url } = await rawServer((socket) => {
      sockets.push(socket);
      socket.on('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\n${header}\r\n`);
      });
    });
    const sender = createSender();
    assert.equal((await post(url, { sender })).verdict, 'delivered');
    await pass(t, keptS);
    assert.equal((await post(url, { sender })).verdict, 'delivered');
    const [socket, ...more] = sockets;
    assert.ok(socket !== undefined && more.length === 0, `not used again after ${keptS} s`);
    await pass(t, closedS);
    t.mock.timers.reset();
    await eventually(() => {
      assert.ok(socket.closed, `not closed after ${closedS} s`);
    });
  });
