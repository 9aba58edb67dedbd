import { isIPv6 } from 'node:net';

/** The address that a broker listens on. An IPv6 address has no brackets here, as sockets and Kafka's metadata have it. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** @param text `host:port`; an IPv6 address stands in brackets */
export function parseBroker(text: string): HostPort {
  const colon = text.lastIndexOf(':');
  const host = text.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(text.slice(colon + 1)) };
}

/** The address as settings and messages have it. */
export function brokerText({ host, port }: HostPort): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}
