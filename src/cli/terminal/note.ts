import { printable } from '../../printable.ts';

/** One line on stderr, beside the answer, which may be read by a program. */
export function note(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}
