/** The user name of Basic authentication; undefined for any other scheme and for an empty one. */
export function basicWriteKey(authorization: string | undefined): string | undefined {
  const match = authorization === undefined ? null : /^basic +(\S+) *$/i.exec(authorization);
  if (match === null) return undefined;
  const [writeKey] = Buffer.from(match[1] ?? '', 'base64')
    .toString()
    .split(':', 1);
  return writeKey === '' ? undefined : writeKey;
}
