import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { readRequests } from '../lab/bench/raw-http.ts';

/** An endpoint that costs as little as one can, so that it does not hold a worker back. */
export interface FastEndpoint {
  readonly url: string;
  /** Message ids, as they came. */
  readonly arrivals: readonly { readonly id: string; readonly atMs: number }[];
  close(): Promise<void>;
}

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const idHeader = Buffer.from('Idempotency-Key: ');

/** Answers 200 to requests with an `Idempotency-Key`. */
export async function startFastEndpoint(): Promise<FastEndpoint> {
  const arrivals: { id: string; atMs: number }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    readRequests(socket, (bytes, start) => {
      const from = bytes.indexOf(idHeader, start) + idHeader.length;
      const id = bytes.toString('latin1', from, bytes.indexOf('\r', from));
      arrivals.push({ id, atMs: performance.now() });
      socket.write(answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    arrivals,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
