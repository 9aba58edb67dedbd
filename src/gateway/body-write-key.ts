import { endOfString } from './batch-items.ts';

const field = 'writeKey';
const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Each character written as `\u0077`. */
const mostNameBytes = 6 * field.length;

/**
 * The field `writeKey` of the object that the body holds, found without parsing it, because anybody can send a body:
 * parsing one takes up to fifty times as long. As in `JSON.parse`, the last of several counts. Undefined if the body
 * has none, if it is empty or no text, and perhaps if the body is not JSON.
 */
export function writeKeyIn(body: Buffer): string | undefined {
  let depth = 0;
  let isName = false;
  let isItsValue = false;
  let found: string | undefined;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === quote) {
      const end = endOfString(body, at);
      if (depth === 1 && isName) {
        isItsValue = isField(body, at, end);
        isName = false;
        if (isItsValue) found = undefined;
      } else if (depth === 1 && isItsValue) found = textAt(body, at, end);
      at = end;
    } else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      isName = depth === 1;
    } else if (byte === closeBrace || byte === closeBracket) depth -= 1;
    else if (byte === comma && depth === 1) isName = true;
  }
  return found === '' ? undefined : found;
}

function isField(body: Buffer, start: number, end: number): boolean {
  const bytes = end - start - 1;
  if (bytes === field.length) return body.toString('latin1', start + 1, end) === field;
  if (bytes < field.length || bytes > mostNameBytes) return false;
  return body.subarray(start, end).includes(backslash) && textAt(body, start, end) === field;
}

/** The string between the quotes at these two places; undefined if it is no valid one. */
function textAt(body: Buffer, start: number, end: number): string | undefined {
  try {
    return JSON.parse(body.toString('utf8', start, end + 1)) as string;
  } catch {
    return undefined;
  }
}
