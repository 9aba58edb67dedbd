import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';

/**
 * Preloaded into a role, so that the soak's proxies can tell the roles apart: connections to loopback come
 * from this role's own address of it. Names are resolved by the soak's name server.
 */
const ownAddress = process.env['SOAK_ADDRESS'];
const nameServer = process.env['SOAK_NAME_SERVER'];

interface Wanted {
  readonly port?: number;
  readonly host?: string;
  localAddress?: string;
}

const { connect } = Socket.prototype as unknown as { connect: (...args: unknown[]) => Socket };
Socket.prototype.connect = function (this: Socket, ...args: unknown[]): Socket {
  const [first] = args;
  // Node has already put the arguments of `net.connect` into an array.
  const wanted = (Array.isArray(first) ? first[0] : first) as Wanted | undefined;
  const isOurs = wanted?.port !== undefined && wanted.host === '127.0.0.1';
  if (isOurs && ownAddress !== undefined) wanted.localAddress = ownAddress;
  return connect.apply(this, args);
};

const { Resolver } = dns;
dns.Resolver = class extends Resolver {
  constructor(options?: dns.ResolverOptions) {
    super(options);
    if (nameServer !== undefined) this.setServers([nameServer]);
  }
};
syncBuiltinESMExports();
