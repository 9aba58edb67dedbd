import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { closeAfterwards } from './sender-scene.ts';

/** Answers 200, on connections that it accepts once its flag is raised: until then two are queued, and no more. */
const listener = `
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

export interface FullListener {
  readonly port: number;
  /** From now on it accepts what comes. */
  readonly accept: () => void;
}

/** On 127.0.0.1, with its queue full: nobody answers to a new connection. */
export async function startFullListener(): Promise<FullListener> {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(listener, { eval: true, workerData: flag });
  closeAfterwards(() => worker.terminate());
  const [port] = (await once(worker, 'message')) as [number];
  for (let queued = 0; queued < 2; queued++) {
    const socket = connect(port, '127.0.0.1');
    closeAfterwards(() => socket.destroy());
    await once(socket, 'connect');
  }
  const accept = (): void => {
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
  };
  return { port, accept };
}
