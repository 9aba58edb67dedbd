const everyMs = 200;
const clearLine = '\r\u001b[2K';

export interface StatusLine {
  /** To be called before something else is written to stderr. */
  clear(): void;
  stop(): void;
}

/** On a terminal, one line on stderr that is overwritten until the work is done; elsewhere nothing. */
export function startStatusLine(describe: () => string): StatusLine {
  const clear = (): void => {
    process.stderr.write(clearLine);
  };
  if (!process.stderr.isTTY) return { clear: () => undefined, stop: () => undefined };
  const timer = setInterval(() => {
    clear();
    process.stderr.write(describe());
  }, everyMs);
  return {
    clear,
    stop: () => {
      clearInterval(timer);
      clear();
    },
  };
}
