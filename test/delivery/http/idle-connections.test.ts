import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { IdleConnections } from '../../../src/delivery/http/idle-connections.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { eventually } from '../../harness/eventually.ts';
import { SimulatedClock } from '../simulated-clock.ts';
import { createSender, post, rawServer } from './sender-scene.ts';

/** In steps, because a timer may start another. */
async function pass({ mock }: TestContext, seconds: number): Promise<void> {
  for (let halves = 0; halves < 2 * seconds; halves += 1) {
    passedMs += 500;
    mock.timers.tick(500);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

let passedMs = 0;
const clock = { ...systemClock, steadyNow: () => passedMs };

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
    const sender = createSender({ clock });
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

test('a connection whose request was given up before it was there is closed like any other', async () => {
  const clock = new SimulatedClock();
  const socket = new Socket().on('error', () => undefined);
  const running: number[] = [];
  const parser = {
    timeoutType: 8,
    timeoutValue: 30_000,
    setTimeout: (delayMs: number): void => {
      running.splice(0, 1, delayMs);
    },
  };
  new IdleConnections(clock).watch(socket, parser);
  assert.deepEqual(running, [0], 'the timer of undici has been stopped');
  await clock.pass(29_000);
  assert.equal(socket.destroyed, false);
  await clock.pass(2_000);
  assert.equal(socket.destroyed, true);
});
