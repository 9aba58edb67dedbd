import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { PostriderError } from '../../errors.ts';
import { printable } from '../../printable.ts';
import type { Terminal } from './terminal.ts';

/**
 * Resolves after a yes. Without a terminal, the caller has to confirm with an option.
 * @param doing the consequence of a yes, for example `this sends 7 events again`
 * @throws PostriderError `usage` if stdin is not a terminal; `stopped` after any other answer
 */
export async function confirm(
  { stdin, stderr }: Terminal,
  doing: string,
  instead: string,
): Promise<void> {
  if (stdin.isTTY !== true) throw new PostriderError('usage', `${doing}: ${instead}`);
  const terminal = createInterface({ input: stdin, output: stderr });
  const closed = once(terminal, 'close').then(() => '');
  try {
    const answer = await Promise.race([
      terminal.question(`${printable(doing)}. Continue? [y/N] `),
      closed,
    ]);
    if (/^y(es)?$/i.test(answer.trim())) return;
  } finally {
    terminal.close();
  }
  throw new PostriderError('stopped', 'not confirmed, so nothing was done');
}
