import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/** The parts of a request that tell its client's address. */
export interface FromClient {
  /** The nearest address that is not a trusted proxy's, by `X-Forwarded-For`. */
  readonly ip: string;
  readonly raw: Pick<IncomingMessage, 'headers' | 'socket'>;
}

/** For limits and logs: the client's address, or where the proxy wrote none, that of the connection. */
export function clientAddress(request: FromClient): string {
  return clientIp(request) ?? request.raw.socket.remoteAddress ?? '';
}

/**
 * The address of the client behind trusted proxies; undefined if a proxy wrote something else.
 * The ports go first, because an address with one is no trusted proxy's.
 */
export function clientIp(request: FromClient): string | undefined {
  const { headers } = request.raw;
  const forwarded = headers['x-forwarded-for'];
  if (typeof forwarded === 'string') headers['x-forwarded-for'] = withoutPorts(forwarded);
  const address = request.ip.replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(address) === 0 ? undefined : address;
}

/** Azure's Application Gateway writes the client's port too: `203.0.113.7:51234`, `[2001:db8::1]:51234`. */
function withoutPorts(forwarded: string): string {
  return forwarded
    .split(',')
    .map((part) => {
      const address = part.trim();
      return /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^([\d.]+):\d+$/, '$1');
    })
    .join(', ');
}
