import { loopHeader } from '../../event/loop-mark.ts';

/**
 * Header names that a resource must not set, in lower case: those that the pipeline sets itself, and
 * those that belong to one connection and not to the request (RFC 9110 7.6.1), with `Expect`, which
 * undici refuses to send.
 */
export const reservedHeaders: readonly string[] = [
  'content-type',
  'user-agent',
  'x-signature',
  loopHeader.toLowerCase(),
  'content-length',
  'host',
  'connection',
  'transfer-encoding',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
];

/** Whether Standard Webhooks sets the header; reserved only for destinations that sign by it. */
export function isStandardHeader(name: string): boolean {
  return ['webhook-id', 'webhook-timestamp', 'webhook-signature'].includes(name.toLowerCase());
}

/** Why a header of this name cannot be configured; undefined if it can. */
export function headerNameProblem(name: string): string | undefined {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/.test(name))
    return "must be a header name: up to 256 letters, digits and !#$%&'*+-.^_`|~, without spaces";
  if (reservedHeaders.includes(name.toLowerCase()))
    return `is a reserved header, set by the pipeline or by the connection; reserved are ${reservedHeaders.join(', ')}`;
  return undefined;
}

/** Why this cannot be a header's value; undefined if it can. Never repeats the value. */
export function headerValueProblem(value: string): string | undefined {
  if (/[\r\n]/.test(value)) return 'must not contain a line break (CR or LF)';
  if (value.includes('\0')) return 'must not contain NUL';
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
    return 'must contain printable latin-1 characters only, because that is all HTTP can carry';
  return undefined;
}
