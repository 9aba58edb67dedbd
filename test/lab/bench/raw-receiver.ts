import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { readRequests } from './raw-http.ts';

/** The cheapest possible endpoint, as a process of its own: answers 200. Prints its port. */
const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

const server = createServer({ noDelay: true }, (socket) => {
  readRequests(socket, () => socket.write(answer));
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on('disconnect', () => {
  process.exit();
});
