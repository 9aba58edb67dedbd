import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseDocuments, type ParsedFile } from './document.ts';
import type { Variables } from './interpolate.ts';
import type { Problem } from '../problem.ts';

export interface LoadInput extends Variables {
  /** For the file name `-`. */
  readonly stdin: AsyncIterable<Buffer | string>;
}

const extensions = ['.yaml', '.yml', '.json'];

/**
 * Reads resource files: YAML, or JSON where the name ends in `.json`. A folder stands for the
 * `.yaml`, `.yml` and `.json` files directly in it, by name; `-` for standard input.
 */
export async function loadFiles(names: readonly string[], input: LoadInput): Promise<ParsedFile> {
  const loaded: ParsedFile[] = [];
  for (const name of names) {
    const files = name === '-' ? [name] : await filesOf(name);
    if (files.length === 0) loaded.push(failed(name, `has no ${extensions.join(', ')} file in it`));
    for (const file of files) loaded.push(await loadFile(file, input));
  }
  return {
    documents: loaded.flatMap(({ documents }) => documents),
    problems: loaded.flatMap(({ problems }) => problems),
  };
}

async function filesOf(name: string): Promise<readonly string[]> {
  // A file that cannot be read is reported when it is read.
  const isFolder = await stat(name).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) return [name];
  const inside = await readdir(name);
  return inside
    .filter((file) => extensions.includes(path.extname(file)))
    .sort()
    .map((file) => path.join(name, file));
}

async function loadFile(name: string, input: LoadInput): Promise<ParsedFile> {
  const file = name === '-' ? 'standard input' : name;
  let bytes: Buffer;
  try {
    bytes = name === '-' ? await readAll(input.stdin) : await readFile(name);
  } catch (error) {
    return failed(
      file,
      readFailures[(error as NodeJS.ErrnoException).code ?? ''] ?? 'cannot be read',
    );
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return failed(file, 'is not UTF-8 text');
  }
  const syntax = path.extname(name) === '.json' ? 'json' : 'yaml';
  const parsed = parseDocuments(file, text, syntax, input);
  const isEmpty = parsed.documents.length === 0 && parsed.problems.length === 0;
  return isEmpty ? failed(file, 'holds no resource') : parsed;
}

const readFailures: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'cannot be read: permission denied',
};

async function readAll(stream: AsyncIterable<Buffer | string>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function failed(file: string, reason: string): ParsedFile {
  const problem: Problem = { file, path: '', reason };
  return { documents: [], problems: [problem] };
}
