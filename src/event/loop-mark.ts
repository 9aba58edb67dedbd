/**
 * The header of each delivery that says where it comes from. RFC 8586 made it against loops: proxies and content
 * delivery networks add themselves to it and must not remove what is there.
 */
export const loopHeader = 'CDN-Loop';
export const loopMark = 'postrider';

/**
 * Whether the request is a delivery of a Postrider, this one or another one, by its header as Node joins its lines:
 * `postrider, edge.example;v=2`.
 */
export function isDelivery(header: string | readonly string[] | undefined): boolean {
  if (header === undefined) return false;
  return String(header)
    .split(',')
    .some((each) => each.split(';', 1)[0]?.trim().toLowerCase() === loopMark);
}
