import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Groups hosts that are likely to fail together: the last two labels of a name (all customers of one
 * platform, all names under `co.uk`), or the neighborhood of an address.
 */
export function providerOf(hostname: string): string {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) === 0) return host.split('.').slice(-2).join('.');
  const address = ipaddr.process(host);
  const prefixBytes = address.kind() === 'ipv4' ? 3 : 6;
  return address.toByteArray().slice(0, prefixBytes).join('.');
}
