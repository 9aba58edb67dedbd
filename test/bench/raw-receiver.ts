import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { takeRequests } from './raw-http.ts';

/** The cheapest possible endpoint, as a process of its own: answers 200. Prints its port. */
const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

const server = createServer({ noDelay: true }, (socket) => {
  let pending: Buffer = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    const bytes = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    pending = takeRequests(bytes, () => socket.write(answer));
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on('disconnect', () => {
  process.exit();
});
