import { constants, createReadStream, type Dirent } from 'node:fs';
import { access, glob, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { PostriderError } from '../../errors.ts';
import type { FileRows, RowFormat } from '../../resources/resource.ts';
import { formatOf } from '../../resources/schema/row-format.ts';

export interface FoundFiles {
  readonly format: RowFormat;
  /** Whole paths, at least one. */
  readonly files: readonly string[];
}

/**
 * The files that rows are in: the one that is named, those directly in a folder, or those that a glob
 * matches; hidden ones and those with a leading `_`, as writers mark what is no data, are left out.
 * @param folder which relative names start from
 * @throws PostriderError `input-invalid`: there are none, or of several formats, or a `.gz` is cut off
 */
export async function findFiles(rows: FileRows, folder: string): Promise<FoundFiles> {
  const names = await namesOf(path.resolve(folder, rows.file), rows);
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
    if (file.endsWith('.gz')) await checkGzip(file);
  }
  return { format, files };
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
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'EACCES' ? 'permission denied' : String(code);
    throw invalid(`${file} cannot be read: ${reason}`);
  });
}

/** DuckDB takes the beginning of one that is cut off for the whole. */
async function checkGzip(file: string): Promise<void> {
  const nowhere = new Writable({
    write: (_chunk, _encoding, done) => {
      done();
    },
  });
  try {
    await pipeline(createReadStream(file), createGunzip(), nowhere);
  } catch {
    throw invalid(`${file} is not a whole gzip file: it is cut off or damaged`);
  }
}

function invalid(message: string): PostriderError {
  return new PostriderError('input-invalid', message);
}
