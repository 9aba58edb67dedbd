import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/**
 * Opens a file that may be gzip. Damage looks like the end of the file, and is reported when the whole file
 * is read.
 */
export function openText(file: string): Readable {
  return unpacked(createReadStream(file), file);
}

/** The text of a file's bytes, which end with it: whoever reads its beginning alone leaves no file open. */
export function unpacked(bytes: Readable, file: string): Readable {
  if (!file.endsWith('.gz')) return bytes;
  const text = createGunzip();
  bytes.once('error', (error) => text.destroy(error));
  text.once('close', () => bytes.destroy());
  return bytes.pipe(text);
}

/** Resolves with the first `count` bytes of the stream, or with all of a shorter one. */
export async function firstBytes(stream: Readable, count: number): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    head = Buffer.concat([head, chunk as Buffer]);
    if (head.length >= count) break;
  }
  return head.subarray(0, count);
}

/** A header of a thousand columns with long names is a tenth of this. */
const maxRecordBytes = 1024 * 1024;

/** The cells of a CSV file's first record; undefined for an empty file. */
export async function firstRecord(
  file: string,
  delimiter: string,
): Promise<readonly string[] | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of openText(file)) {
    text += decoder.decode(chunk as Buffer, { stream: true });
    const record = parseRecord(text, delimiter);
    if (record.isWhole || text.length > maxRecordBytes) return record.cells;
  }
  return text === '' ? undefined : parseRecord(text, delimiter).cells;
}

/** The first record of a text in the format of RFC 4180; incomplete if its end was not seen. */
export function parseRecord(
  text: string,
  delimiter: string,
): { readonly cells: readonly string[]; readonly isWhole: boolean } {
  const cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (text.charAt(at + 1) === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (char === '"' && cell === '') isQuoted = true;
    else if (char === delimiter) {
      cells.push(cell);
      cell = '';
    } else if (char === '\n' || char === '\r') return { cells: [...cells, cell], isWhole: true };
    else cell += char;
  }
  return { cells: [...cells, cell], isWhole: false };
}
