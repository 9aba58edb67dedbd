/** Clients send the same header with all their requests. Strangers may send any, which take little memory here. */
const mostRemembered = 1_000;
const longestRemembered = 256;
const remembered = new Map<string, string>();

/** The user name of Basic authentication; undefined for any other scheme and for an empty one. */
export function basicWriteKey(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const known = remembered.get(authorization);
  if (known !== undefined) return known;
  const writeKey = decodeWriteKey(authorization);
  if (writeKey !== undefined && authorization.length <= longestRemembered) {
    if (remembered.size >= mostRemembered) remembered.clear();
    remembered.set(authorization, writeKey);
  }
  return writeKey;
}

function decodeWriteKey(authorization: string): string | undefined {
  const match = /^basic +(\S+) *$/i.exec(authorization);
  if (match === null) return undefined;
  const [writeKey] = Buffer.from(match[1] ?? '', 'base64')
    .toString()
    .split(':', 1);
  return writeKey === '' ? undefined : writeKey;
}
