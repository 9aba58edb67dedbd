const everyMs = 200;

/** On a terminal, one line on stderr that is overwritten until the work is done; elsewhere nothing. */
export function startStatusLine(describe: () => string): { stop(): void } {
  if (!process.stderr.isTTY) return { stop: () => undefined };
  const show = (): void => {
    process.stderr.write(`\r\u001b[2K${describe()}`);
  };
  const timer = setInterval(show, everyMs);
  return {
    stop: () => {
      clearInterval(timer);
      process.stderr.write('\r\u001b[2K');
    },
  };
}
