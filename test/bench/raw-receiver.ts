import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/**
 * The cheapest possible endpoint, as a process of its own: finds the end of each request by its content
 * length and answers 200. Prints its port.
 */
const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const headEnd = Buffer.from('\r\n\r\n');
const lengthName = Buffer.from('content-length: ');

const server = createServer({ noDelay: true }, (socket) => {
  let pending: Buffer = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    pending = answerAll(socket, pending.length === 0 ? chunk : Buffer.concat([pending, chunk]));
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on('disconnect', () => {
  process.exit();
});

/** What is left after the last complete request. */
function answerAll(socket: Socket, bytes: Buffer): Buffer {
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(headEnd, start);
    if (end < 0) break;
    const at = bytes.indexOf(lengthName, start);
    if (at < 0 || at > end) throw new Error('a request without a content length');
    const lineEnd = bytes.indexOf('\r', at);
    const next = end + 4 + Number(bytes.toString('latin1', at + lengthName.length, lineEnd));
    if (bytes.length < next) break;
    socket.write(answer);
    start = next;
  }
  return start === 0 ? bytes : bytes.subarray(start);
}
