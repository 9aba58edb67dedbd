import { constants, createReadStream, type Dirent } from 'node:fs';
import { access, glob, open, readdir, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { PostriderError } from '../../errors.ts';
import type { FileRows, RowFormat } from '../../resources/resource.ts';
import { isInside } from '../../resources/schema/texts.ts';
import { firstBytes, openText } from './first-record.ts';
import { formatOf } from '../../resources/schema/audience-schema.ts';

export interface FoundFiles {
  readonly format: RowFormat;
  /** Complete paths without links, at least one. */
  readonly files: readonly string[];
  /** The number of rows that the writer of the files stated. */
  readonly expectedRows: number | undefined;
  /**
   * The time at which the newest of the files was written, or the file that says that they are
   * complete.
   */
  readonly writtenMs: number;
}

/**
 * The files that rows are in: the named one, those directly in a folder, or those that a glob matches. Hidden
 * files and those with a leading `_`, with which writers mark files without data, are left out.
 * @param folder the only folder that may be read from
 * @throws PostriderError `input-invalid`: there are none, they are of several formats, outside of the folder,
 * or incomplete
 */
export async function findFiles(rows: FileRows, folder: string): Promise<FoundFiles> {
  if (!isInside(folder, rows.file)) throw outside(rows.file, folder);
  const whole = path.resolve(folder, rows.file);
  const marker = await readMarker(rows, whole, folder);
  const named = await namesOf(whole, rows);
  const names = await Promise.all(named.map((name) => realFile(name, folder)));
  const byFormat = Map.groupBy(names, (file) => formatOf({ ...rows, file }));
  const formats = [...byFormat.keys()].filter((format) => format !== undefined);
  const [format] = formats;
  if (format === undefined)
    throw invalid(`${rows.file} does not say what it is; set format to csv, ndjson or parquet`);
  if (formats.length > 1)
    throw invalid(`${rows.file} holds ${formats.sort().join(' and ')} files; set format to one`);
  const files = byFormat.get(format) ?? [];
  for (const file of files) {
    await checkReadable(file);
    const last = file.endsWith('.gz') ? await lastOfGzip(file) : await lastOf(file);
    if (format === 'parquet') continue;
    if (await isUtf16(file)) throw invalid(`${file} is UTF-16; write it as UTF-8`);
    if (last === carriageReturn)
      throw invalid(
        `${file} has lines that end in a carriage return alone; end them in a line feed`,
      );
    if (last !== undefined && last !== lineFeed)
      throw invalid(`${file} is cut off: its last line does not end in a line break`);
  }
  const { expectedRows, writtenMs = await newestMs(files) } = marker ?? {};
  return { format, files, expectedRows, writtenMs };
}

async function namesOf(whole: string, rows: FileRows): Promise<readonly string[]> {
  const found = await stat(whole).catch(() => undefined);
  if (found?.isFile() === true) return [whole];
  if (found?.isDirectory() === true) return filesIn(whole, rows);
  if (!/[*?[{]/.test(rows.file)) throw invalid(`${rows.file} does not exist`);
  const matches: string[] = [];
  for await (const entry of glob(whole, { withFileTypes: true }))
    if (isData(entry)) matches.push(path.join(entry.parentPath, entry.name));
  if (matches.length === 0) throw invalid(`no file matches ${rows.file}`);
  return matches.sort();
}

async function filesIn(folder: string, rows: FileRows): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter(isData)
    .map(({ name }) => path.join(folder, name))
    .filter((file) => formatOf({ ...rows, file }) !== undefined)
    .sort();
  if (names.length > 0) return names;
  throw invalid(`${rows.file} is a folder without a .csv, .ndjson, .jsonl or .parquet file in it`);
}

function isData(entry: Dirent): boolean {
  return !entry.isDirectory() && !/^[._]/.test(entry.name);
}

async function checkReadable(file: string): Promise<void> {
  await access(file, constants.R_OK).catch((error: unknown) => {
    throw unreadable(file, error);
  });
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** By its byte order mark, or by the zero in its first letter. */
async function isUtf16(file: string): Promise<boolean> {
  const [first, second] = await firstBytes(openText(file), 2);
  if (first === undefined || second === undefined) return false;
  const isMarked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return isMarked || (first === 0) !== (second === 0);
}

/** The last byte; undefined for an empty file. */
async function lastOf(file: string): Promise<number | undefined> {
  const opened = await open(file);
  try {
    const { size } = await opened.stat();
    if (size === 0) return undefined;
    const { buffer } = await opened.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer[0];
  } finally {
    await opened.close();
  }
}

/** The last byte of the unpacked content. DuckDB reads a file that is cut off without an error. */
async function lastOfGzip(file: string): Promise<number | undefined> {
  let last: number | undefined;
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      last = chunk.at(-1) ?? last;
      done();
    },
  });
  try {
    await pipeline(createReadStream(file), createGunzip(), sink);
  } catch {
    throw invalid(`${file} is not a whole gzip file: it is cut off or damaged`);
  }
  return last;
}

/** The path after links are followed, which has to be in the folder too. */
async function realFile(name: string, folder: string): Promise<string> {
  const real = await realpath(name).catch((error: unknown) => {
    throw unreadable(name, error);
  });
  if (isInside(folder, real)) return real;
  throw outside(name, folder);
}

async function newestMs(files: readonly string[]): Promise<number> {
  const found = await Promise.all(files.map((file) => stat(file)));
  return Math.max(...found.map(({ mtimeMs }) => mtimeMs));
}

interface Marker {
  /** Undefined if there is no number in it. */
  readonly expectedRows: number | undefined;
  readonly writtenMs: number;
}

/** The writer's marker of a whole file or folder; undefined if none is asked for. */
async function readMarker(
  { file, complete }: FileRows,
  whole: string,
  folder: string,
): Promise<Marker | undefined> {
  if (complete === undefined) return undefined;
  const isFolder = await stat(whole).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const marker = path.join(isFolder ? whole : path.dirname(whole), complete);
  const isThere = await access(marker).then(
    () => true,
    () => false,
  );
  if (!isThere) throw invalid(`${file} is not complete: there is no ${marker} yet`);
  const real = await realFile(marker, folder);
  const text = (await readFile(real, 'latin1')).trim();
  const expectedRows = /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  return { expectedRows, writtenMs: (await stat(real)).mtimeMs };
}

function outside(file: string, folder: string): PostriderError {
  return invalid(`${file} is outside AUDIENCE_FILES_DIR (${folder}); no other files are read`);
}

function unreadable(file: string, error: unknown): PostriderError {
  const { code } = error as NodeJS.ErrnoException;
  const reason = code === 'EACCES' ? 'permission denied' : String(code);
  return invalid(`${file} cannot be read: ${reason}`);
}

function invalid(message: string): PostriderError {
  return new PostriderError('input-invalid', message);
}
