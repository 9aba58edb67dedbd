import { InvalidArgumentError, Option, type Command } from 'commander';
import { printableJson } from '../../printable.ts';
import { printableYaml } from '../../printable-yaml.ts';
import { outputFormats, type OutputFormat } from '../../resources/present.ts';

export interface OutputOptions {
  readonly output: OutputFormat;
}

/** The one way to say how a command prints its answer: for a person, or for a program. */
export function withOutput(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'output format; wide prints all columns in full')
      .choices(outputFormats)
      .default('table'),
  );
}

/** For commands that had an option of their own before. */
export function withJson(command: Command): Command {
  const json = new Option('--json', 'same as -o json').implies({ output: 'json' });
  return withOutput(command).addOption(json);
}

/** The value of an option that is a number of things. */
export function parseCount(text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count > 0) return count;
  throw new InvalidArgumentError('Allowed: a whole number from 1 on.');
}

/** The newest calls that a command may look at: with calls of the largest size, they take 320 MB. */
const mostLast = 10_000;

/** The value of `--last`. */
export function parseLast(text: string): number {
  const count = parseCount(text);
  if (count <= mostLast) return count;
  throw new InvalidArgumentError(`Allowed: up to ${mostLast.toLocaleString('en')} calls.`);
}

/** True for formats beside which nothing may stand on stdout. */
export function isForPrograms({ output }: OutputOptions): boolean {
  return output === 'json' || output === 'yaml';
}

/**
 * @param data what programs get
 * @param text what people get
 */
export function present(
  format: OutputFormat,
  data: () => unknown,
  text: (format: 'table' | 'wide') => string,
): string {
  switch (format) {
    case 'json':
      return printableJson(data());
    case 'yaml':
      return printableYaml(data());
    case 'table':
    case 'wide':
      return text(format);
  }
}

/** Why a given file cannot be read, as the end of a sentence that begins with its name. */
export function whyUnreadable(code: string): string {
  return reasons[code] ?? `cannot be read (${code})`;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'cannot be read: permission denied',
  EISDIR: 'is a folder; allowed: a file, or - for stdin',
  Z_BUF_ERROR: 'is gzip that is cut off',
  Z_DATA_ERROR: 'is gzip that is damaged',
};
