/** Nothing from elsewhere, and nothing inline. */
const policy: readonly string[] = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
];

/** The headers of every answer: in nobody's frame. */
export const headers: Readonly<Record<string, string>> = {
  'content-security-policy': [...policy, "frame-ancestors 'none'"].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** An image may be opened as a page too, and an SVG may hold scripts. */
export const imagePolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/**
 * The policy of a page that others may show in a frame; undefined: nobody may. Without `X-Frame-Options`, which knows no
 * list.
 * @param url of the request
 * @param ancestors origins
 */
export function framedPolicy(url: string, ancestors: readonly string[]): string | undefined {
  if (ancestors.length === 0 || !isCustomersPage(url)) return undefined;
  return [...policy, `frame-ancestors ${ancestors.join(' ')}`].join('; ');
}

/**
 * True for pages that act by a customer's link alone: they name it, so the session of staff that the browser may have
 * too counts for nothing in them.
 */
function isCustomersPage(url: string): boolean {
  return /^\/(?:c|l)\/|^\/logout\?link=/.test(url);
}
