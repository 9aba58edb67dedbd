import { createServer, type AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * An endpoint in a thread of its own. It says its port, then `asked` at each request, waits for `mayAnswer`,
 * and sets `hasAnswered` once the answer is with the other side's kernel.
 */
const { mayAnswer, hasAnswered } = workerData as Record<'mayAnswer' | 'hasAnswered', Int32Array>;
const server = createServer((socket) => {
  socket.once('data', () => {
    parentPort?.postMessage('asked');
    Atomics.wait(mayAnswer, 0, 0);
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', () => {
      Atomics.store(hasAnswered, 0, 1);
      Atomics.notify(hasAnswered, 0);
    });
  });
});
server.listen(0, '127.0.0.1', () => {
  parentPort?.postMessage((server.address() as AddressInfo).port);
});
