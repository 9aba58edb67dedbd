import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { AddressRefusedError, NameRefusedError, prefixesIn } from './address-guard.ts';
import type { Allowing } from './address-guard.ts';
import type { NameResolver } from './name-resolver.ts';

/** A `lookup` for Node's sockets that resolves names only to addresses that the guard allows. */
export function guardedLookup(guard: Allowing, resolver: NameResolver): LookupFunction {
  const discovery = new PrefixDiscovery(resolver, guard);
  return (hostname, options, callback) => {
    const name = withoutRoot(hostname);
    const reply = (error: Error | null, addresses: readonly LookupAddress[]): void => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      // One forbidden address refuses all of them: a name with public and private addresses is probably an
      // attack.
      const forbidden = addresses.find(({ address }) => !guard.allows(address));
      const first = addresses[0];
      if (forbidden !== undefined) {
        resolver.distrust(name);
        callback(refusal(hostname, forbidden.address), []);
      } else if (options.all === true) callback(null, [...addresses]);
      else callback(null, first?.address ?? '', first?.family ?? 0);
    };
    if (isLocalhost(hostname)) process.nextTick(reply, null, loopback(guard));
    else
      resolver.resolve(name, (error, addresses) => {
        const hasIpv6 = addresses.some(({ family }) => family === 6);
        if (hasIpv6)
          discovery.refresh(() => {
            reply(error, addresses);
          });
        else reply(error, addresses);
      });
  };
}

/** A `lookup` for the operator's own hosts, whose addresses need not be public. */
export function plainLookup(resolver: NameResolver): LookupFunction {
  return (hostname, options, callback) => {
    resolver.resolve(withoutRoot(hostname.toLowerCase()), (error, addresses) => {
      const [first] = addresses;
      if (error !== null) callback(error, []);
      else if (options.all === true) callback(null, [...addresses]);
      else callback(null, first?.address ?? '', first?.family ?? 0);
    });
  };
}

/** The error for a host that led to this address. */
export function refusal(host: string, address: string): Error {
  const isSaidByUrl = isIP(host) !== 0 || isLocalhost(host);
  return isSaidByUrl ? new AddressRefusedError(address) : new NameRefusedError(host, address);
}

export function withoutRoot(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

/** RFC 6761 §6.3: such names are loopback, whatever a name server would say. */
export function isLocalhost(hostname: string): boolean {
  const name = withoutRoot(hostname);
  return name === 'localhost' || name.endsWith('.localhost');
}

/** localhost has exactly these two addresses, so one of them may be allowed without the other. */
function loopback(guard: Allowing): readonly LookupAddress[] {
  const allowed = loopbackAddresses.filter(({ address }) => guard.allows(address));
  return allowed.length > 0 ? allowed : loopbackAddresses;
}

const loopbackAddresses: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/**
 * The name that only has IPv4 addresses, known to everybody: what DNS64 makes of them shows its prefix
 * (RFC 7050).
 */
const probedName = 'ipv4only.arpa';

/** Asks the name servers which prefixes they use for NAT64, and tells the guard. */
class PrefixDiscovery {
  readonly #resolver: NameResolver;
  readonly #guard: Allowing;
  #hasAnswer = false;

  constructor(resolver: NameResolver, guard: Allowing) {
    this.#resolver = resolver;
    this.#guard = guard;
  }

  /**
   * Calls back once the prefixes are known, so at once after the first answer. Asks again each time, because
   * the resolver keeps the answer. A failure changes nothing.
   */
  refresh(callback: () => void): void {
    const isFirst = !this.#hasAnswer;
    this.#resolver.resolve(probedName, (error, addresses) => {
      this.#hasAnswer = true;
      if (error === null) {
        const ipv6 = addresses.filter(({ family }) => family === 6);
        this.#guard.setPrefixes(prefixesIn(ipv6.map(({ address }) => address)));
      }
      if (isFirst) callback();
    });
    if (!isFirst) callback();
  }
}
