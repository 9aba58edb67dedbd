import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * - `cut`: connections are reset, and new ones too
 * - `stalled`: nothing passes; what was sent meanwhile arrives when the fault ends, as after lost packets
 * - `half-open`: what is sent is lost, and so is the end of a connection; one that has lost something stays
 *   silent for ever, also when the fault has ended, as behind a firewall that has forgotten it
 * - `slow`: everything arrives a fifth of a second later, in order
 */
export const networkFaults = ['cut', 'stalled', 'half-open', 'slow'] as const;
export type NetworkFault = (typeof networkFaults)[number];

/** A TCP proxy on loopback in front of one server: the network between it and its clients. */
export interface NetworkLink {
  readonly port: number;
  /** How often each fault has hit a piece of data, the end of a connection or, for `cut`, a connection. */
  readonly hits: Readonly<Record<NetworkFault, number>>;
  /** Where it leads. Before, every connection is closed. */
  leadTo(port: number): void;
  /**
   * Undefined: all is well. `from`: for clients that connect from this address only; without it, for
   * all others.
   */
  set(fault: NetworkFault | undefined, from?: string): void;
  close(): Promise<void>;
}

const slowMs = 200;
const everybody = '';

export async function startNetworkLink(): Promise<NetworkLink> {
  const hits = { cut: 0, stalled: 0, 'half-open': 0, slow: 0 };
  const faults = new Map<string, NetworkFault>();
  const connections = new Set<Connection>();
  let targetPort: number | undefined;
  const faultOf = (from: string): NetworkFault | undefined =>
    faults.get(from) ?? faults.get(everybody);

  const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    const fault = faultOf(client.remoteAddress ?? '');
    if (targetPort === undefined || fault === 'cut') {
      if (fault === 'cut') hits.cut += 1;
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const connection = new Connection(client, targetPort, {
      hit: (by) => (hits[by] += 1),
      gone: () => connections.delete(connection),
    });
    connections.add(connection);
    connection.feel(fault);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    hits,
    leadTo: (next) => {
      targetPort = next;
    },
    set: (fault, from = everybody) => {
      if (fault === undefined) faults.delete(from);
      else faults.set(from, fault);
      for (const connection of connections) {
        const felt = faultOf(connection.from);
        if (felt !== connection.fault) connection.feel(felt);
      }
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const connection of connections) connection.end();
      await closed;
    },
  };
}

interface Watcher {
  hit(fault: NetworkFault): void;
  gone(): void;
}

/** Both halves of a connection through the proxy. */
class Connection {
  readonly from: string;
  fault: NetworkFault | undefined;
  readonly #sockets: readonly [client: Socket, target: Socket];
  readonly #watcher: Watcher;
  /** What a fault holds back, in order. */
  #held: (() => void)[] = [];
  #isLost = false;

  constructor(client: Socket, targetPort: number, watcher: Watcher) {
    this.from = client.remoteAddress ?? '';
    const target = connect({
      host: '127.0.0.1',
      port: targetPort,
      noDelay: true,
      allowHalfOpen: true,
    });
    this.#sockets = [client, target];
    this.#watcher = watcher;
    this.#join(client, target);
    this.#join(target, client);
  }

  feel(fault: NetworkFault | undefined): void {
    this.fault = fault;
    if (fault === 'cut') {
      this.#watcher.hit(fault);
      this.end();
    }
    if (fault === 'stalled') return;
    const held = this.#held;
    this.#held = [];
    for (const pass of held) this.#pass(pass);
  }

  end(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
    this.#watcher.gone();
  }

  #join(socket: Socket, other: Socket): void {
    socket.on('data', (bytes: Buffer) => {
      this.#pass(() => other.write(bytes));
    });
    socket.on('end', () => {
      this.#pass(() => other.end());
    });
    socket.on('error', () => undefined);
    socket.on('close', (failed) => {
      this.#pass(() => {
        if (failed) other.resetAndDestroy();
        else other.end();
        if (socket.destroyed && other.destroyed) this.#watcher.gone();
      });
    });
  }

  /** Bytes, or the end of one direction. */
  #pass(arrive: () => void): void {
    if (this.fault !== undefined) this.#watcher.hit(this.fault);
    if (this.fault === 'half-open') this.#isLost = true;
    if (this.#isLost) return;
    if (this.fault === 'stalled') this.#held.push(arrive);
    else if (this.fault === 'slow') setTimeout(arrive, slowMs);
    else arrive();
  }
}
