import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A real proxy that understands CONNECT. It leads every name to this machine. */
export interface ConnectProxy {
  readonly port: number;
  /** The targets that it was asked for. */
  readonly asked: string[];
  /** An answer instead of a tunnel: its status line and headers. */
  answer: ((request: IncomingMessage) => string | undefined) | undefined;
  close(): Promise<void>;
}

/** @param port any that is free, unless one is wanted */
export async function startConnectProxy(port: number = 0): Promise<ConnectProxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => {
    response.writeHead(405).end();
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    const target = request.url ?? '';
    asked.push(target);
    const instead = proxy.answer?.(request);
    if (instead !== undefined) {
      client.end(`${instead}\r\n\r\n`);
      return;
    }
    const there = connect(Number(target.replace(/^.*:/, '')), '127.0.0.1');
    sockets.add(there);
    there.once('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n');
      client.pipe(there).pipe(client);
    });
    there.on('error', () => client.destroy());
    client.on('close', () => there.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const proxy: ConnectProxy = {
    port: (server.address() as AddressInfo).port,
    asked,
    answer: undefined,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
