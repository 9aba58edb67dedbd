import { constants } from 'node:os';
import { CommanderError } from 'commander';
import { asError, PostriderError } from '../errors.ts';
import { printable, printableLines } from '../printable.ts';
import { createContext } from './context.ts';
import { createProgram } from './program.ts';

const program = await createProgram(createContext(), process.argv[2]);

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of the answer, for example `head`, has ended. Other programs are ended by that signal.
  if (error.code === 'EPIPE') process.exit(128 + constants.signals.SIGPIPE);
  process.exit(report(new Error(`stdout cannot be written to: ${error.message}`)));
});

// Node would print the message without escapes.
process.on('uncaughtException', (error: unknown) => {
  process.stderr.write(`${error instanceof Error ? stackOf(error) : oneLine(String(error))}\n`);
  process.exit(1);
});

try {
  await program.parseAsync();
} catch (error) {
  // A role that could not start has open servers and connections, which would keep the process alive.
  process.exit(report(error));
}

/** Prints the error as one line, unless commander already has, and gives the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const cause = asError(error);
  const verbose = program.opts<{ verbose?: true }>().verbose === true;
  const text = verbose ? stackOf(cause) : oneLine(cause.message);
  process.stderr.write(`postrider: ${text}\n`);
  return error instanceof PostriderError ? error.exitCode : 1;
}

function stackOf({ name, message, stack = '' }: Error): string {
  const head = `${name}: ${message}`;
  // A line break in the message must not begin a line of the output; those between frames do.
  const frames = stack.startsWith(head)
    ? stack.slice(head.length)
    : stack.replace(/^.*?(?=\n {4}at )/s, '');
  return oneLine(head) + printableLines(frames);
}

function oneLine(text: string): string {
  return printable(text.replaceAll('\n', ' '));
}
