import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * - `refuse`: connections are closed as they come, and those that are open too
 * - `cut-requests`: the connection ends in the middle of the request
 * - `cut-answers`: the request arrives whole, and the connection ends before its answer is through
 * - `answer-500`: the proxy answers itself; nothing arrives
 * - `delay`: both directions wait for 50 ms
 */
export type Fault = 'refuse' | 'cut-requests' | 'cut-answers' | 'answer-500' | 'delay';

export interface FaultyProxy {
  readonly url: string;
  /** How often each fault has hit a connection. */
  readonly hits: Readonly<Record<Fault, number>>;
  /** Undefined: everything passes. Holds from the next bytes on. */
  set(fault: Fault | undefined): void;
  close(): Promise<void>;
}

const delayMs = 50;
const answer500 =
  'HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

/** A TCP proxy between an HTTP client and a server on loopback. */
export async function startFaultyProxy(targetPort: number): Promise<FaultyProxy> {
  const hits = {
    refuse: 0,
    'cut-requests': 0,
    'cut-answers': 0,
    'answer-500': 0,
    delay: 0,
  };
  const sockets = new Set<Socket>();
  let fault: Fault | undefined;

  const server = createServer((client) => {
    if (fault === 'refuse') {
      hits.refuse += 1;
      client.destroy();
      return;
    }
    const target = connect(targetPort, '127.0.0.1');
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (chunk) => {
      if (fault === 'cut-requests') {
        hits['cut-requests'] += 1;
        target.write(chunk.subarray(0, chunk.length / 2), () => client.destroy());
      } else if (fault === 'answer-500') {
        hits['answer-500'] += 1;
        client.end(answer500);
      } else void pass(chunk, target);
    });
    target.on('data', (chunk) => {
      if (fault === 'cut-answers') {
        hits['cut-answers'] += 1;
        client.write(chunk.subarray(0, chunk.length / 2), () => client.destroy());
      } else void pass(chunk, client);
    });
  });

  const pass = async (chunk: Buffer, to: Socket): Promise<void> => {
    if (fault === 'delay') {
      hits.delay += 1;
      await delay(delayMs);
    }
    if (!to.destroyed) to.write(chunk);
  };

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    hits,
    set: (next) => {
      fault = next;
      if (next === 'refuse') destroyAll();
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      destroyAll();
      await closed;
    },
  };
}
