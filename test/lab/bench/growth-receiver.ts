import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { readRequests } from './raw-http.ts';

/**
 * Endpoints of every loopback address, as a process of their own: they answer 200 after as many milliseconds as
 * the path begins with, if it does. Prints its port.
 */
const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const pathAt = 'POST /'.length;

const server = createServer({ noDelay: true }, (socket) => {
  readRequests(socket, (bytes, start) => {
    const afterMs = Number.parseInt(bytes.toString('latin1', start + pathAt, start + 2 * pathAt));
    if (afterMs > 0) setTimeout(() => socket.write(answer), afterMs);
    else socket.write(answer);
  });
});
server.listen(0, '0.0.0.0', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on('disconnect', () => {
  process.exit();
});
