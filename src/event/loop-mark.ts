import type { IncomingHttpHeaders } from 'node:http';

/**
 * The header of each delivery that says where it comes from. RFC 8586 made it against loops: proxies and content
 * delivery networks add themselves to it and must not remove what is there.
 */
export const loopHeader = 'CDN-Loop';
export const loopMark = 'postrider';
const inLowerCase = loopHeader.toLowerCase();

/**
 * Tells whether a request is a delivery of a Postrider, this or another one, by its headers as Node has them: names in
 * lower case, and lines of one name joined, as in `postrider, edge.example;v=2`.
 */
export function isDelivery(headers: IncomingHttpHeaders): boolean {
  const header = headers[inLowerCase];
  if (header === undefined) return false;
  return String(header)
    .split(',')
    .some((each) => each.split(';', 1)[0]?.trim().toLowerCase() === loopMark);
}
