import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { closeAfterwards, createSender, leadingTo, post } from './sender-scene.ts';

/** Answers 200, on connections that it accepts once its flag is raised: until then two are queued, and no more. */
const busyServer = `
  const { createServer } = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n'));
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    setImmediate(() => Atomics.wait(workerData, 0, 0));
  });
`;

test('an address that takes its time is waited for, though there is another one', async () => {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(busyServer, { eval: true, workerData: flag });
  closeAfterwards(() => worker.terminate());
  const [port] = (await once(worker, 'message')) as [number];
  for (let queued = 0; queued < 2; queued++) {
    const socket = connect(port, '127.0.0.1');
    closeAfterwards(() => socket.destroy());
    await once(socket, 'connect');
  }
  const resolver = leadingTo('127.0.0.1', '127.0.0.2');
  const sender = createSender({ resolver, timeoutMs: 20_000 });
  const result = post(`http://crm.example:${port}/`, { sender });
  setTimeout(() => {
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
  }, 500);
  assert.equal((await result).verdict, 'delivered');
});
