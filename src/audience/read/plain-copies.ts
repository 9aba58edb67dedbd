import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { asError, PostriderError } from '../../errors.ts';
import type { RowFormat } from '../../resources/resource.ts';
import type { FoundFiles } from './find-files.ts';
import { firstBytes, openText } from './first-record.ts';

/**
 * Runs `use` with files that DuckDB can read. Those that it refuses though they are right are copied for that time,
 * unpacked and without their byte order mark.
 * @param tempFolder holds the copies
 * @throws what `use` throws, with the files' own names
 */
export async function withPlainCopies<T>(
  found: FoundFiles,
  tempFolder: string,
  use: (found: FoundFiles) => Promise<T>,
): Promise<T> {
  const odd = new Map<string, number>();
  for (const file of found.files) {
    const markBytes = await markBytesOf(file, found.format);
    if (markBytes > 0 || (await hasOddGzipHeader(file))) odd.set(file, markBytes);
  }
  if (odd.size === 0) return use(found);
  await mkdir(tempFolder, { recursive: true });
  const folder = await mkdtemp(path.join(tempFolder, 'plain-'));
  const copies = new Map<string, string>();
  try {
    for (const [file, markBytes] of odd) {
      const copy = path.join(folder, `${copies.size}.rows`);
      await pipeline(
        openText(file),
        (chunks: AsyncIterable<Buffer>) => without(markBytes, chunks),
        createWriteStream(copy, { mode: 0o600 }),
      );
      copies.set(file, copy);
    }
    return await use({ ...found, files: found.files.map((file) => copies.get(file) ?? file) });
  } catch (error) {
    throw withOwnNames(error, copies);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const byteOrderMark = Buffer.from('\uFEFF');

/** DuckDB takes a byte order mark in CSV. */
async function markBytesOf(file: string, format: RowFormat): Promise<number> {
  if (format !== 'ndjson') return 0;
  const head = await firstBytes(openText(file), byteOrderMark.length);
  return head.equals(byteOrderMark) ? byteOrderMark.length : 0;
}

const flagsAt = 3;
/** RFC 1952: an extra field, and the name of the file. DuckDB refuses a comment and a checksum of the header. */
const flagsThatDuckDbKnows = 0x04 | 0x08;

async function hasOddGzipHeader(file: string): Promise<boolean> {
  if (!file.endsWith('.gz')) return false;
  const head = await firstBytes(createReadStream(file), flagsAt + 1);
  return ((head[flagsAt] ?? 0) & ~flagsThatDuckDbKnows) !== 0;
}

async function* without(
  skippedBytes: number,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  let left = skippedBytes;
  for await (const chunk of chunks) {
    yield chunk.subarray(left);
    left -= Math.min(left, chunk.length);
  }
}

function withOwnNames(error: unknown, copies: ReadonlyMap<string, string>): Error {
  const { message } = asError(error);
  let named = message;
  for (const [file, copy] of copies) named = named.replaceAll(copy, file);
  if (named === message) return asError(error);
  return error instanceof PostriderError
    ? new PostriderError(error.code, named)
    : new Error(named, { cause: error });
}
