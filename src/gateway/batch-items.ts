import { endOfString } from '../event/text-field.ts';

const quote = 0x22;
const [comma, colon] = [0x2c, 0x3a];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];
/** The body and its batch. */
const batchDepth = 2;

/**
 * Each item of the batch as it was sent, with its spaces and escapes. Only for bytes that JSON.parse has read
 * as an object whose `batch` is an array. As there, the last `batch` counts.
 */
export function batchItems(body: Buffer): readonly Buffer[] {
  let items: Buffer[] = [];
  let depth = 0;
  let isKey = false;
  let key: unknown;
  /** The position behind the comma before the item; undefined outside the batch. */
  let start: number | undefined;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === quote) {
      const end = endOfString(body, at);
      if (isKey && depth === 1) key = JSON.parse(body.toString('utf8', at, end + 1));
      at = end;
    } else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      isKey = depth === 1;
      if (depth !== batchDepth || key !== 'batch') continue;
      items = [];
      start = at + 1;
    } else if (byte === closeBrace || byte === closeBracket) {
      if (depth === batchDepth && start !== undefined) {
        items.push(trimmed(body, start, at));
        start = undefined;
      }
      depth -= 1;
    } else if (byte === comma && depth === batchDepth && start !== undefined) {
      items.push(trimmed(body, start, at));
      start = at + 1;
    } else if (depth === 1 && (byte === comma || byte === colon)) isKey = byte === comma;
  }
  return items.length === 1 && items[0]?.length === 0 ? [] : items;
}

function trimmed(body: Buffer, start: number, end: number): Buffer {
  while (start < end && isBlank(body[start])) start += 1;
  while (end > start && isBlank(body[end - 1])) end -= 1;
  return body.subarray(start, end);
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
