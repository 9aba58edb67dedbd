import { isUtf8 } from 'node:buffer';
import { PostriderError } from '../errors.ts';
import { maxCallBytes } from '../event/limits.ts';
import { asGiven } from '../event/sought.ts';

export interface UserIds {
  /** Each once, in the order given. */
  readonly ids: readonly string[];
  /** The number of ids that were repetitions. */
  readonly repeated: number;
  readonly emptyLines: number;
}

export interface UserFile {
  /** The file's name for error messages. */
  readonly name: string;
  readonly bytes: Buffer;
}

/**
 * The users that a command names: its arguments, and the lines of a file, one id each. Nothing is trimmed,
 * because ids are compared exactly: a line with spaces around its id is refused, and an argument is taken as
 * it is. Only half an emoji is read as it is printed, because neither can hold one.
 * @throws PostriderError `usage` for problems of the arguments, `input-invalid` for the file
 */
export function collectUserIds(args: readonly string[], file: UserFile | undefined): UserIds {
  if (args.length === 0 && file === undefined)
    throw new PostriderError('usage', 'name users, as arguments or with --file');
  for (const id of args) {
    const problem = problemOf(id);
    if (problem !== undefined) throw new PostriderError('usage', `a user id ${problem}`);
  }
  const lines = file === undefined ? [] : linesOf(file);
  const named = [...args, ...lines.filter((line) => line !== '')].map(asGiven);
  if (named.length === 0)
    throw new PostriderError('input-invalid', `${file?.name ?? ''} names no user`);
  const ids = [...new Set(named)];
  return {
    ids,
    repeated: named.length - ids.length,
    emptyLines: args.length + lines.length - named.length,
  };
}

/** The last line may lack its line break. */
function linesOf({ name, bytes }: UserFile): string[] {
  if (!isUtf8(bytes)) throw new PostriderError('input-invalid', `${name} is not UTF-8 text`);
  const lines = bytes
    .toString()
    .replace(/^\ufeff/, '')
    .split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  const problems = lines.flatMap((line, index) => {
    const problem = line === '' ? undefined : (problemOf(line) ?? lineProblemOf(line, index === 0));
    return problem === undefined ? [] : [`line ${index + 1} ${problem}`];
  });
  const [first, ...more] = problems;
  if (first === undefined) return lines;
  const others = more.length === 0 ? '' : `, and ${more.length} more with a problem`;
  throw new PostriderError('input-invalid', `${name}: ${first}${others}; no user was deleted`);
}

function problemOf(id: string): string | undefined {
  if (id.trim() === '') return 'is blank';
  const isLong = Buffer.byteLength(id) > maxCallBytes;
  return isLong ? `has more than ${maxCallBytes} bytes, which no call can carry` : undefined;
}

const asArgument = '(if that is intended, give the id as an argument)';
const headerName = /^"?(?:(?:user|customer|member|account|anonymous)[ _-]?)?ids?"?$/i;

function lineProblemOf(line: string, isFirst: boolean): string | undefined {
  if (isFirst && headerName.test(line))
    return `is the header of a CSV file, not an id: give a file with ids alone ${asArgument}`;
  if (/^".*"$/.test(line)) return `has its id in quotes, as CSV has ${asArgument}`;
  return line === line.trim() ? undefined : `has blanks around its id ${asArgument}`;
}
