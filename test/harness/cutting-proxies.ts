import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { answeredRequest, FrameSplitter, produceKey, requestHead } from './kafka-frames.ts';

/** One proxy in front of each broker. What they may do to connections is the same for all. */
export interface CuttingProxies {
  readonly ports: readonly number[];
  /** `host:port` each. */
  readonly addresses: readonly string[];
  /** How many connections were cut behind an append and before its answer. */
  readonly cuts: number;
  /** `host:port` of the brokers, in the proxies' order. Before, every connection is closed. */
  passTo(brokers: readonly string[]): void;
  /**
   * Every so many produce requests, the connection ends when the broker answers one: the broker has the
   * records, and the client cannot know. Undefined: everything passes.
   */
  cutEvery(requests: number | undefined): void;
  close(): Promise<void>;
}

export async function startCuttingProxies(count: number): Promise<CuttingProxies> {
  const sockets = new Set<Socket>();
  let targets: readonly string[] = [];
  let every: number | undefined;
  let produced = 0;
  let cuts = 0;

  const isNextCut = (): boolean => {
    produced += 1;
    return every !== undefined && produced % every === 0;
  };

  const join = (client: Socket, target: Socket): void => {
    const doomed = new Set<number>();
    const requests = new FrameSplitter();
    const answers = new FrameSplitter();
    client.on('data', (piece: Buffer) => {
      for (const frame of requests.take(piece)) {
        const { apiKey, correlationId } = requestHead(frame);
        if (apiKey === produceKey && isNextCut()) doomed.add(correlationId);
        target.write(frame);
      }
    });
    target.on('data', (piece: Buffer) => {
      for (const frame of answers.take(piece)) {
        if (doomed.has(answeredRequest(frame))) {
          cuts += 1;
          client.destroy();
          return;
        }
        client.write(frame);
      }
    });
  };

  const startProxy = async (index: number): Promise<Server> => {
    const server = createServer({ noDelay: true }, (client) => {
      const [host, port] = (targets[index] ?? '').split(':');
      const target = connect({ host, port: Number(port), noDelay: true });
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
      join(client, target);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };

  const servers = await Promise.all(Array.from({ length: count }, (_, index) => startProxy(index)));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  return {
    ports,
    addresses: ports.map((port) => `127.0.0.1:${port}`),
    get cuts() {
      return cuts;
    },
    passTo: (brokers) => {
      targets = brokers;
    },
    cutEvery: (requests) => {
      every = requests;
    },
    close: async () => {
      const closed = servers.map((server) => once(server, 'close'));
      for (const server of servers) server.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}
