import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { getDomain } from 'tldts';

/** For names that `URL` has parsed, and that are no addresses. */
const parsed = {
  allowPrivateDomains: true,
  extractHostname: false,
  validateHostname: false,
  detectIp: false,
};

/**
 * Groups hosts that are likely to fail together: the names under one registered domain (all customers of a platform), or
 * the neighborhood of an address. Domains are registered under a suffix of the Public Suffix List: under `com.br`, and
 * with clouds that give each customer a name, under `azurewebsites.net`.
 */
export function providerOf(hostname: string): string {
  const host = hostname.replace(/^\[|\]$/g, '');
  // A suffix itself, such as `localhost`, is no domain.
  if (isIP(host) === 0) return getDomain(host, parsed) ?? host;
  const address = ipaddr.process(host);
  const prefixBytes = address.kind() === 'ipv4' ? 3 : 6;
  return address.toByteArray().slice(0, prefixBytes).join('.');
}
