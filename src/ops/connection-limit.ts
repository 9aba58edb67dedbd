import type { Server, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface ConnectionLimit {
  /** The most connections of all clients together. */
  readonly most: number;
  /** The most connections of one address, or of one /64 of IPv6. */
  readonly mostOfClient: number;
  /** Proxies, behind which there are many clients. */
  readonly exempt: readonly string[];
}

/** More are closed at once: a client that opens connections and asks nothing costs memory and file descriptors. */
export function limitConnections(
  server: Server,
  { most, mostOfClient, exempt }: ConnectionLimit,
): void {
  const networks = exempt.map((network) => ipaddr.parseCIDR(network));
  const counts = new Map<string, number>();
  server.maxConnections = most;
  // Before its server reads from it; also for TLS, whose handshake would cost most.
  server.on('connection', (socket: Socket) => {
    const client = networkOf(socket.remoteAddress ?? '');
    const count = counts.get(client) ?? 0;
    if (count >= mostOfClient && !isIn(socket.remoteAddress ?? '', networks)) {
      socket.destroy();
      return;
    }
    counts.set(client, count + 1);
    socket.once('close', () => {
      const left = (counts.get(client) ?? 1) - 1;
      if (left > 0) counts.set(client, left);
      else counts.delete(client);
    });
  });
}

/** The network that belongs to one client: an IPv6 address stands for its /64. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return ipaddr.IPv6.networkAddressFromCIDR(`${address.split('%')[0] ?? ''}/64`).toString();
}

type Network = ReturnType<typeof ipaddr.parseCIDR>;

function isIn(address: string, networks: readonly Network[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return networks.some(([base, bits]) => parsed.kind() === base.kind() && parsed.match(base, bits));
}
