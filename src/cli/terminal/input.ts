import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { PostriderError } from '../../errors.ts';
import type { Context } from '../context.ts';
import { whyUnreadable } from './output.ts';

/**
 * The bytes of a file, or of the standard input for `-`.
 * @throws PostriderError `input-invalid` for one that is missing, or a folder
 */
export async function openInput({ terminal }: Context, file: string): Promise<Readable> {
  if (file === '-') return terminal.stdin;
  const handle = await open(file).catch((cause: unknown) => {
    throw unreadableInput(file, cause);
  });
  if ((await handle.stat()).isDirectory())
    throw new PostriderError('input-invalid', `${file} ${whyUnreadable('EISDIR')}`);
  return handle.createReadStream();
}

/**
 * The reason that Node or zlib gives for a file that is missing or broken; other errors pass.
 * @param more the end of the sentence
 */
export function unreadableInput(file: string, cause: unknown, more = ''): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  if (cause instanceof PostriderError || code === undefined) return cause;
  const name = file === '-' ? 'the standard input' : file;
  return new PostriderError('input-invalid', `${name} ${whyUnreadable(code)}${more}`, { cause });
}
