import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { PostriderError } from '../../errors.ts';
import { addressRefusedCode, dnsErrorCode } from '../outcome.ts';
import { translatedAddress, wellKnownPrefix, type TranslationPrefix } from './nat64.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Allows the public internet, and the networks that the operator named. */
export class AddressGuard {
  readonly #allowed: readonly [Address, number][];
  #prefixes: readonly TranslationPrefix[] = [wellKnownPrefix];

  /** @throws PostriderError 'setting-invalid' for anything that is not a CIDR. */
  constructor(allowNetworks: readonly string[]) {
    this.#allowed = allowNetworks.map(parseNetwork);
  }

  /**
   * @param address a literal IPv4 or IPv6 address, as sockets and name servers report them. An IPv4 address
   * that is mapped into IPv6 counts as the IPv4 address that a socket would connect to, and so does one that
   * NAT64 translates.
   */
  allows(address: string): boolean {
    // A zone id names a link, and addresses of a link are local.
    if (address.includes('%') || isIP(address) === 0) return false;
    const parsed = this.#destinationOf(parse(address));
    return isPublic(parsed) || this.#allowed.some((network) => isIn(parsed, network));
  }

  /** Sets the prefixes of NAT64 beside the well-known one. */
  setPrefixes(prefixes: readonly TranslationPrefix[]): void {
    this.#prefixes = [wellKnownPrefix, ...prefixes];
  }

  #destinationOf(address: Address): Address {
    if (address.kind() === 'ipv4') return address;
    return translatedAddress(address as ipaddr.IPv6, this.#prefixes) ?? address;
  }
}

/** ipaddr.js reads ::1.2.3.4, which is unreachable, as ::ffff:1.2.3.4, which is 1.2.3.4. */
function parse(address: string): Address {
  const isMixed = address.includes(':') && address.includes('.');
  return ipaddr.process(isMixed ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address);
}

/** Every other range of ipaddr.js is reserved or private, or contains an IPv4 address. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4'
    ? address.toString() !== azureHost
    : isGlobalUnicast(address as ipaddr.IPv6) && !isIsatap(address as ipaddr.IPv6);
}

/**
 * A service of Azure that answers on every virtual machine, with the data that configures it. The metadata
 * services of other clouds have private addresses. (Microsoft: "What is IP address 168.63.129.16?")
 */
const azureHost = '168.63.129.16';

/**
 * All of IPv6 that IANA has assigned to the public internet; ipaddr.js treats unassigned ranges as ordinary.
 * (IANA, "Internet Protocol Version 6 Address Space")
 */
function isGlobalUnicast({ parts }: ipaddr.IPv6): boolean {
  return ((parts[0] ?? 0) & 0xe000) === 0x2000;
}

/** Under any prefix, an interface identifier 0000:5efe (or with its u and g bits set) ends in an IPv4 address. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return ((parts[4] ?? 0) & 0xfcff) === 0 && parts[5] === 0x5efe;
}

function isIn(address: Address, [network, bits]: [Address, number]): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

function parseNetwork(text: string): [Address, number] {
  try {
    const [network, bits] = ipaddr.parseCIDR(text);
    const isMapped = network.kind() === 'ipv6' && (network as ipaddr.IPv6).isIPv4MappedAddress();
    if (!isMapped || bits < mappedBits) return [network, bits];
    return [(network as ipaddr.IPv6).toIPv4Address(), bits - mappedBits];
  } catch (cause) {
    throw new PostriderError(
      'setting-invalid',
      `DELIVERY_ALLOW_NETWORKS has '${text}', which is not a network like 127.0.0.0/8 or fd00::/8.`,
      { cause },
    );
  }
}

/** Number of bits that precede the IPv4 address in ::ffff:0:0/96. */
const mappedBits = 96;

const remedy = 'not a public address; DELIVERY_ALLOW_NETWORKS can allow it';

/** Permanent, because the URL itself has the address. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
  readonly code: string = addressRefusedCode;

  constructor(address: string) {
    super(`${address} is ${remedy}`);
  }
}

/**
 * For one attempt only: a name that has a private address for a moment (a blocking name server, a parking
 * page) may have a public one the next time.
 */
export class NameRefusedError extends Error {
  override readonly name = 'NameRefusedError';
  readonly code: string = dnsErrorCode;

  constructor(hostname: string, address: string) {
    super(`${hostname} resolves to ${address}, which is ${remedy}`);
  }
}
