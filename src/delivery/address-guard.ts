import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { PostriderError } from '../errors.ts';
import { addressRefusedCode } from './outcome.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Only the public internet, and the networks that the operator named. */
export class AddressGuard {
  readonly #allowed: readonly [Address, number][];

  /** @throws PostriderError 'setting-invalid' for anything that is not a CIDR. */
  constructor(allowNetworks: readonly string[]) {
    this.#allowed = allowNetworks.map(parseNetwork);
  }

  /** `address`: a written-out IPv4 or IPv6 address, as sockets and name servers give them. */
  allows(address: string): boolean {
    // A zone id names a link, and links are local.
    if (address.includes('%') || isIP(address) === 0) return false;
    const parsed = ipaddr.process(address);
    return isPublic(parsed) || this.#allowed.some((network) => isIn(parsed, network));
  }
}

/** Every other range of ipaddr.js is reserved, private, or leads to an IPv4 address in disguise. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || !isDisguised(address as ipaddr.IPv6);
}

/** IPv6 forms that carry an IPv4 address and that ipaddr.js counts as ordinary. */
function isDisguised(address: ipaddr.IPv6): boolean {
  const { parts } = address;
  const isCompatible = parts.slice(0, 6).every((part) => part === 0);
  const isIsatap = parts[5] === 0x5efe && (parts[4] === 0 || parts[4] === 0x200);
  const isSiteLocal = ((parts[0] ?? 0) & 0xffc0) === 0xfec0;
  return isCompatible || isIsatap || isSiteLocal;
}

function isIn(address: Address, [network, bits]: [Address, number]): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

function parseNetwork(text: string): [Address, number] {
  try {
    return ipaddr.parseCIDR(text);
  } catch (cause) {
    throw new PostriderError(
      'setting-invalid',
      `DELIVERY_ALLOW_NETWORKS has '${text}', which is not a network like 127.0.0.0/8 or fd00::/8.`,
      { cause },
    );
  }
}

export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
  readonly code: string = addressRefusedCode;

  constructor(address: string) {
    super(`${address} is not a public address`);
  }
}
