import { CommanderError } from 'commander';
import { asError, PostriderError } from '../errors.ts';
import { printable, printableLines } from '../printable.ts';
import type { Context } from './context.ts';
import { createProgram } from './program.ts';

/**
 * Runs a command with all that it needs from its context, so that several may run in one process, and resolves
 * with its exit code. An error is printed as one line, or with its stack where the command is told to be verbose.
 * A failed command may leave servers and connections open, which only the end of the process closes.
 * @param args those after the program's name
 */
export async function run(args: readonly string[], context: Context): Promise<number> {
  const program = await createProgram(context, args);
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has printed it.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const cause = explained(asError(error));
    const isVerbose = program.opts<{ verbose?: true }>().verbose === true;
    context.terminal.stderr.write(
      `postrider: ${isVerbose ? stackOf(cause) : oneLine(cause.message)}\n`,
    );
    return cause instanceof PostriderError ? cause.exitCode : 1;
  }
}

/** Few commands load the optional packages, which an installation may lack. */
function explained(error: Error): Error {
  const { code } = error as NodeJS.ErrnoException;
  const [, name] =
    /^Cannot find (?:package|module) '((?:@[\w.-]+\/)?\w[\w.-]*)/.exec(error.message) ?? [];
  if (name === undefined || code?.endsWith('MODULE_NOT_FOUND') !== true) return error;
  const message = `this needs the package ${name}, which is optional and not installed; run npm install ${name}`;
  return new PostriderError('part-missing', message, { cause: error });
}

export function stackOf({ name, message, stack = '' }: Error): string {
  const head = `${name}: ${message}`;
  // A line break in the message must not begin a line of the output; those between frames do.
  const frames = stack.startsWith(head)
    ? stack.slice(head.length)
    : stack.replace(/^.*?(?=\n {4}at )/s, '');
  return oneLine(head) + printableLines(frames);
}

export function oneLine(text: string): string {
  return printable(text.replaceAll('\n', ' '));
}
