import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { PostriderError } from '../../errors.ts';
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

const redrawEveryMs = 200;
/** Without a terminal, lines are not overwritten and would fill a log. */
const noteEveryMs = 5_000;
const clearLine = '\r\u001b[2K';

export interface StatusLine {
  /** To be called before other output to stderr. */
  clear(): void;
  stop(): void;
}

type Stderr = Pick<Terminal, 'stderr'>;

/**
 * Shows progress on stderr: on a terminal in one line that is overwritten until the work is done, elsewhere
 * in a line now and then.
 */
export function startStatusLine(terminal: Stderr, describe: () => string): StatusLine {
  return terminal.stderr.isTTY === true
    ? overwriteLine(terminal, describe)
    : repeatLine(terminal, describe);
}

function overwriteLine({ stderr }: Stderr, describe: () => string): StatusLine {
  const clear = (): void => {
    stderr.write(clearLine);
  };
  const draw = (): void => {
    clear();
    stderr.write(printable(describe()));
  };
  draw();
  const timer = setInterval(draw, redrawEveryMs);
  return {
    clear,
    stop: () => {
      clearInterval(timer);
      clear();
    },
  };
}

/** Prints no line twice in a row. */
function repeatLine(terminal: Stderr, describe: () => string): StatusLine {
  let said = '';
  const timer = setInterval(() => {
    const line = describe();
    if (line !== said) note(terminal, line);
    said = line;
  }, noteEveryMs);
  return {
    clear: () => undefined,
    stop: () => {
      clearInterval(timer);
    },
  };
}

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
