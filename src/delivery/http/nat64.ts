import ipaddr from 'ipaddr.js';
import type { NameResolver } from './name-resolver.ts';

/**
 * In a network with IPv6 alone, DNS64 answers for a host that has IPv4 alone with an IPv6 address, and NAT64
 * leads connections to the IPv4 address that it contains (RFC 6146, RFC 6147).
 */
export interface TranslationPrefix {
  readonly bytes: readonly number[];
  readonly bits: number;
}

/** For each length of a prefix, the bytes of the IPv4 address; byte 8 is left out, and 0 (RFC 6052 §2.2). */
const ipv4BytesAt: Readonly<Record<number, readonly number[]>> = {
  32: [4, 5, 6, 7],
  40: [5, 6, 7, 9],
  48: [6, 7, 9, 10],
  56: [7, 9, 10, 11],
  64: [9, 10, 11, 12],
  96: [12, 13, 14, 15],
};

/** 64:ff9b::/96, which every network may use (RFC 6052 §2.1). */
export const wellKnownPrefix: TranslationPrefix = {
  bytes: ipaddr.parse('64:ff9b::').toByteArray(),
  bits: 96,
};

/** The IPv4 address that a connection to the IPv6 address leads to; `undefined`: it leads to itself. */
export function translatedAddress(
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

/**
 * The name that only has IPv4 addresses, known to everybody: what DNS64 makes of them shows its prefix
 * (RFC 7050).
 */
const probedName = 'ipv4only.arpa';
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

/** Finds the prefixes that the name servers use. */
export class PrefixDiscovery {
  readonly #resolver: NameResolver;
  readonly #onFound: (prefixes: readonly TranslationPrefix[]) => void;
  #hasAnswer = false;

  /** @param onFound called with each answer, which may be that there is none */
  constructor(resolver: NameResolver, onFound: (prefixes: readonly TranslationPrefix[]) => void) {
    this.#resolver = resolver;
    this.#onFound = onFound;
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
        this.#onFound(prefixesIn(ipv6.map(({ address }) => address)));
      }
      if (isFirst) callback();
    });
    if (!isFirst) callback();
  }
}
