const quote = 0x22;
const backslash = 0x5c;
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];
/** The body, its batch, a call. */
const itemDepth = 3;

/**
 * The largest call of a batch as it was sent, in bytes: blanks and escapes inside it count. Only for
 * bytes that JSON.parse has taken as an object.
 */
export function largestItemBytes(body: Buffer): number {
  let largest = 0;
  let depth = 0;
  let start = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === quote) at = endOfString(body, at);
    else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      if (depth === itemDepth) start = at;
    } else if (byte === closeBrace || byte === closeBracket) {
      if (depth === itemDepth) largest = Math.max(largest, at + 1 - start);
      depth -= 1;
    }
  }
  return largest;
}

function endOfString(body: Buffer, start: number): number {
  let at = start + 1;
  while (body[at] !== quote && at < body.length) at += body[at] === backslash ? 2 : 1;
  return at;
}
