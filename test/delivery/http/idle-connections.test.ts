import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { IdleConnections, KeptConnection } from '../../../src/delivery/http/idle-connections.ts';
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
  ['when it is old, after some minutes', '', 260, 75],
  ['as soon as its endpoint asks for', 'Keep-Alive: timeout=10\r\n', 5, 14],
  ['when it is old, however long it may be kept', 'Keep-Alive: timeout=3600\r\n', 260, 75],
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

/** Answers without an end. */
function answering(socket: Socket): void {
  socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
}

async function openAfter(
  t: TestContext,
  seconds: number,
  sockets: readonly Socket[],
): Promise<number> {
  await pass(t, seconds);
  t.mock.timers.reset();
  await new Promise((resolve) => setTimeout(resolve, 100));
  return sockets.filter((socket) => !socket.destroyed).length;
}

test('of the many connections of a burst, a few are kept for minutes', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sockets: Socket[] = [];
  const { url } = await rawServer((socket) => {
    sockets.push(socket);
    answering(socket);
  });
  const sender = createSender({ clock });
  await Promise.all(Array.from({ length: 20 }, () => post(url, { sender })));
  assert.equal(sockets.length, 20);
  assert.equal(await openAfter(t, 40, sockets), 4);
});

test('where many endpoints have idle connections, a thousand are kept for minutes', async () => {
  const clock = new SimulatedClock();
  const idle = new IdleConnections(clock);
  const sockets = Array.from({ length: 1_200 }, (_, index) => {
    const socket = new Socket().on('error', () => undefined);
    new KeptConnection(idle, socket, `crm-${index}.example:443`).becameIdle(300_000);
    return socket;
  });
  await clock.pass(40_000);
  assert.equal(sockets.filter((socket) => !socket.destroyed).length, 1_000);
  await clock.pass(300_000);
  assert.ok(sockets.every((socket) => socket.destroyed));
});

test(
  'a silent connection is probed, so that one that a firewall has forgotten is not used',
  { skip: process.platform !== 'linux' },
  async () => {
    let port = 0;
    const { url } = await rawServer((socket) => {
      port = socket.remotePort ?? 0;
      answering(socket);
    });
    await post(url, { sender: createSender() });
    await eventually(() => {
      const dueMs = keepAliveDueMs(port);
      assert.ok(dueMs > 10_000 && dueMs <= 15_000, `the first probe comes after ${dueMs} ms`);
    });
  },
);

/**
 * When the kernel probes the connection with this local port: 02 stands for that timer, in clock ticks. A connection to
 * another server may have the same local port.
 */
function keepAliveDueMs(port: number): number {
  const local = `: 0100007F:${port.toString(16).toUpperCase().padStart(4, '0')} `;
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  const ticks = lines
    .filter((row) => row.includes(local))
    .map((row) => / 02:([0-9A-F]+) /.exec(row)?.[1])
    .find((found) => found !== undefined);
  return ticks === undefined ? NaN : Number.parseInt(ticks, 16) * 10;
}
