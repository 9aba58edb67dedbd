import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { PostriderError } from '../../errors.ts';
import { addressRefusedCode, dnsErrorCode } from './errors.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The part of a guard that connections need. */
export type Allowing = Pick<AddressGuard, 'allows' | 'setPrefixes'>;

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
    const parsed = this.#parsed(address);
    return parsed !== undefined && (isPublic(parsed) || this.#isNamed(parsed));
  }

  /** The guard that allows the networks that the operator named, and nothing else. */
  get ofNamedNetworks(): Allowing {
    return {
      allows: (address) => {
        const parsed = this.#parsed(address);
        return parsed !== undefined && this.#isNamed(parsed);
      },
      setPrefixes: (prefixes) => {
        this.setPrefixes(prefixes);
      },
    };
  }

  /** Sets the prefixes of NAT64 beside the well-known one. */
  setPrefixes(prefixes: readonly TranslationPrefix[]): void {
    this.#prefixes = [wellKnownPrefix, ...prefixes];
  }

  /** Undefined for a zone id, which names a link: addresses of a link are local. */
  #parsed(address: string): Address | undefined {
    if (address.includes('%') || isIP(address) === 0) return undefined;
    return this.#destinationOf(parse(address));
  }

  #isNamed(address: Address): boolean {
    return this.#allowed.some((network) => isIn(address, network));
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

/** An interface identifier 0000:5efe (or with its u and g bits set) ends in an IPv4 address, under any prefix. */
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

/**
 * The prefix of addresses that lead to IPv4. In a network with IPv6 alone, DNS64 answers for a host that has IPv4 alone
 * with an IPv6 address, and NAT64 leads connections to the IPv4 address that it contains (RFC 6146, RFC 6147).
 */
export interface TranslationPrefix {
  readonly bytes: readonly number[];
  readonly bits: number;
}

/** The bytes of the IPv4 address, for each length of a prefix; byte 8 is left out, and 0 (RFC 6052 §2.2). */
const ipv4BytesAt: Readonly<Record<number, readonly number[]>> = {
  32: [4, 5, 6, 7],
  40: [5, 6, 7, 9],
  48: [6, 7, 9, 10],
  56: [7, 9, 10, 11],
  64: [9, 10, 11, 12],
  96: [12, 13, 14, 15],
};

/** 64:ff9b::/96, which every network may use (RFC 6052 §2.1). */
const wellKnownPrefix: TranslationPrefix = {
  bytes: ipaddr.parse('64:ff9b::').toByteArray(),
  bits: 96,
};

/** The IPv4 address that a connection to the IPv6 address leads to; `undefined`: it leads to itself. */
function translatedAddress(
  address: ipaddr.IPv6,
  prefixes: readonly TranslationPrefix[],
): ipaddr.IPv4 | undefined {
  const bytes = address.toByteArray();
  const prefix = prefixes.find(
    (each) =>
      each.bytes.slice(0, each.bits / 8).every((byte, at) => byte === bytes[at]) &&
      (each.bits === 96 || bytes[8] === 0),
  );
  return prefix && ipv4In(bytes, prefix.bits);
}

/** The addresses of `ipv4only.arpa`, which has IPv4 addresses only (RFC 7050). */
const probedAddresses = new Set(['192.0.0.170', '192.0.0.171']);

/** The prefixes that these IPv6 addresses of `ipv4only.arpa` were made with. */
export function prefixesIn(addresses: readonly string[]): TranslationPrefix[] {
  return addresses.flatMap((address) => {
    const bytes = ipaddr.parse(address).toByteArray();
    const bits = Object.keys(ipv4BytesAt)
      .map(Number)
      .find((each) => probedAddresses.has(ipv4In(bytes, each).toString()));
    return bits === undefined ? [] : { bytes, bits };
  });
}

function ipv4In(bytes: readonly number[], bits: number): ipaddr.IPv4 {
  return new ipaddr.IPv4((ipv4BytesAt[bits] ?? []).map((at) => bytes[at] ?? 0));
}

const remedy = 'not a public address; DELIVERY_ALLOW_NETWORKS can allow it';

/** An error that is permanent, because the URL itself has the address. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
  readonly code: string = addressRefusedCode;

  constructor(address: string) {
    super(`${address} is ${remedy}`);
  }
}

/**
 * An error that fails one attempt only: a name that has a private address for a moment (a blocking name server, a parking
 * page) may have a public one the next time.
 */
export class NameRefusedError extends Error {
  override readonly name = 'NameRefusedError';
  readonly code: string = dnsErrorCode;

  constructor(hostname: string, address: string) {
    super(`${hostname} resolves to ${address}, which is ${remedy}`);
  }
}
