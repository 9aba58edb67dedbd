import { printable } from '../../printable.ts';
import { note, type Terminal } from './terminal.ts';

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
