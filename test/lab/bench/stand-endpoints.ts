import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { readRequests } from './raw-http.ts';

/**
 * How an endpoint answers: at once with 200, with 200 after two seconds, at once with 500, or never. To one that is `unsent`, nothing is
 * sent: the worker drops its events where it has read them.
 */
export type Behaviour = 'healthy' | 'slow' | 'failing' | 'hanging' | 'unsent';

const taken = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const answers: Record<Behaviour, string | undefined> = {
  healthy: taken,
  slow: taken,
  failing: 'HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno',
  hanging: undefined,
  unsent: undefined,
};
/** Below every timeout. */
const slowMs = 2_000;

export interface Endpoints {
  readonly port: number;
  close(): void;
}

/** One server for all: the path says how it answers. Tells the numbers of what it takes. */
export async function startEndpoints(onTaken: (n: number) => void): Promise<Endpoints> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    readRequests(socket, (bytes, start, bodyStart, bodyEnd) => {
      const behaviour = behaviourOf(bytes, start);
      const answer = answers[behaviour];
      if (answer === undefined) return;
      if (behaviour === 'slow') setTimeout(() => socket.write(answer), slowMs);
      else socket.write(answer);
      if (answer !== taken) return;
      const { n } = JSON.parse(bytes.toString('latin1', bodyStart, bodyEnd)) as Body;
      onTaken(n);
    });
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Of every event. */
export interface Body {
  readonly n: number;
}

function behaviourOf(bytes: Buffer, start: number): Behaviour {
  const path = start + 'POST /'.length;
  return bytes.toString('latin1', path, bytes.indexOf(' ', path)) as Behaviour;
}
