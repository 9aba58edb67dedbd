import { constants } from 'node:os';
import { createContext } from './context.ts';
import { oneLine, run, stackOf } from './run.ts';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of the answer, for example `head`, has ended. Other programs are ended by that signal.
  if (error.code === 'EPIPE') process.exit(128 + constants.signals.SIGPIPE);
  process.stderr.write(`postrider: stdout cannot be written to: ${oneLine(error.message)}\n`);
  process.exit(1);
});

// Node would print the message without escapes.
process.on('uncaughtException', (error: unknown) => {
  process.stderr.write(`${error instanceof Error ? stackOf(error) : oneLine(String(error))}\n`);
  process.exit(1);
});

const code = await run(process.argv.slice(2), createContext());
// A role that could not start has open servers and connections, which would keep the process alive.
if (code !== 0) process.exit(code);
