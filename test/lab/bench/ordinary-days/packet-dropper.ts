import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';

const thisFile = fileURLToPath(import.meta.url);
const answersWithinMs = 1_000;

/** A port that takes no more connections, and does not refuse them either. */
export interface PacketDropper {
  readonly port: number;
  close(): void;
}

/**
 * A process listens and stands still. Once the few connections are there that the kernel takes in its place, Linux
 * drops the packets of all others.
 */
export async function startPacketDropper(): Promise<PacketDropper> {
  const child = fork(thisFile);
  const [port] = (await once(child, 'message')) as [number];
  child.kill('SIGSTOP');
  const sockets: Socket[] = [];
  for (let isFull = false; !isFull;) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.push(socket);
    const connected = once(socket, 'connect').then(() => false);
    isFull = await Promise.race([connected, delay(answersWithinMs, true)]);
  }
  return {
    port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      child.kill('SIGKILL');
    },
  };
}

if (process.argv[1] === thisFile) {
  const server = createServer().listen({ port: 0, host: '0.0.0.0', backlog: 1 }, () => {
    process.send?.((server.address() as AddressInfo).port);
  });
}
