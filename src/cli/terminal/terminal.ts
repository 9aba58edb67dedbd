import type { Readable, Writable } from 'node:stream';
import { printable } from '../../printable.ts';

/** The streams that a command reads and writes: the process's own, unless the caller gives others. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output & {
    /** The file descriptor to which the log is written directly, without the stream's buffer. */
    readonly fd?: number;
  };
}

type Output = Writable & { readonly isTTY?: boolean };

/** One line on stderr, beside the answer, which may be read by a program. */
export function note({ stderr }: Pick<Terminal, 'stderr'>, text: string): void {
  stderr.write(`${printable(text)}\n`);
}
