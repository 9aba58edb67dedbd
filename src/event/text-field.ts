const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * A field of the JSON object that these bytes hold, if it is a text that isn't empty. It is found without parsing the
 * object, because anybody can send one: parsing takes up to fifty times as long, and what comes of it twenty times the
 * memory. As in `JSON.parse`, the last of several counts. Of bytes that are no JSON object, it may be anything.
 */
export function textFieldIn(json: Buffer, field: string): string | undefined {
  let depth = 0;
  let isName = false;
  let isItsValue = false;
  let found: string | undefined;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) {
      const end = endOfString(json, at);
      if (depth === 1 && isName) {
        isItsValue = isText(json, at, end, field);
        isName = false;
        if (isItsValue) found = undefined;
      } else if (depth === 1 && isItsValue) found = textAt(json, at, end);
      at = end;
    } else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      isName = depth === 1;
    } else if (byte === closeBrace || byte === closeBracket) depth -= 1;
    else if (byte === comma && depth === 1) isName = true;
  }
  return found === '' ? undefined : found;
}

/** The place of the quote that ends the string which begins at `start`. */
export function endOfString(json: Buffer, start: number): number {
  let at = start + 1;
  while (json[at] !== quote && at < json.length) at += json[at] === backslash ? 2 : 1;
  return at;
}

/** Each character may be written as `\\u0077`. */
const mostBytesOfCharacter = 6;

/** @param text without characters that have to be escaped */
function isText(json: Buffer, start: number, end: number, text: string): boolean {
  const bytes = end - start - 1;
  if (bytes === text.length) return json.toString('latin1', start + 1, end) === text;
  if (bytes < text.length || bytes > mostBytesOfCharacter * text.length) return false;
  return json.subarray(start, end).includes(backslash) && textAt(json, start, end) === text;
}

/** The string between the quotes at these two places; undefined if it is no valid one. */
function textAt(json: Buffer, start: number, end: number): string | undefined {
  try {
    return JSON.parse(json.toString('utf8', start, end + 1)) as string;
  } catch {
    return undefined;
  }
}
