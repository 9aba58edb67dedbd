import { constants } from 'node:os';
import { CommanderError } from 'commander';
import { PostriderError } from '../errors.ts';
import { createContext } from './context.ts';
import { createProgram } from './program.ts';

const program = createProgram(createContext());

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever read the answer has seen enough, e.g. `head`: other programs are ended by that signal.
  if (error.code === 'EPIPE') process.exit(128 + constants.signals.SIGPIPE);
  process.exit(report(new Error(`stdout cannot be written to: ${error.message}`)));
});

try {
  await program.parseAsync();
} catch (error) {
  // A role that could not start has servers and connections open that nobody would ever close.
  process.exit(report(error));
}

/** Prints the error as one line, unless commander already has, and gives the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const cause = error instanceof Error ? error : new Error(String(error));
  const verbose = program.opts<{ verbose?: true }>().verbose === true;
  const text = verbose ? (cause.stack ?? cause.message) : cause.message.replaceAll('\n', ' ');
  process.stderr.write(`postrider: ${text}\n`);
  return error instanceof PostriderError ? error.exitCode : 1;
}
