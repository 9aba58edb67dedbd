import { PostriderError } from '../../errors.ts';
import type { RowFormat } from '../../resources/resource.ts';
import { firstWrongLine, noObject } from './ndjson.ts';

/**
 * Throws DuckDB's error as a sentence with the file and, if possible, the line. The content of the line is
 * not shown.
 * @throws PostriderError `input-invalid`
 */
export async function explainUnreadable(
  error: unknown,
  files: readonly string[],
  format: RowFormat,
): Promise<never> {
  if (!(error instanceof Error) || error instanceof PostriderError) throw error;
  const { message } = error;
  const file = files.find((name) => message.includes(name)) ?? files.join(', ');
  if (/^(Out of Memory|IO) Error/.test(message) && !message.includes(file)) throw error;
  if (format === 'ndjson') {
    const wrong = await firstWrongLine(file).catch(() => undefined);
    throw invalid(
      wrong === undefined ? `${file}: ${noObject}` : `${file}:${wrong.number}: ${wrong.reason}`,
    );
  }
  if (format === 'parquet')
    throw invalid(
      /string encoding/i.test(message)
        ? `${file} has bytes in a column that are no text, such as a UUID of 16 bytes; write them as text, or with the logical type UUID`
        : `${file} is not a whole Parquet file`,
    );
  const line = /CSV Error on Line: (\d+)/.exec(message)?.[1];
  const reason = csvReasons.find(([pattern]) => pattern.test(message))?.[1] ?? 'is not valid CSV';
  throw invalid(`${line === undefined ? file : `${file}:${line}`}: ${reason}`);
}

const csvReasons: readonly (readonly [RegExp, string])[] = [
  [/Expected Number of Columns/, 'has more or fewer columns than the first line'],
  [/unterminated quote/i, 'has a quote that is not closed, or one inside an unquoted cell'],
  [/not utf-8|invalid unicode/i, 'is not UTF-8'],
  [/line size/i, 'is longer than 2 MB'],
  [/invalid state/, 'is not valid CSV: a quote is not closed, or line ends are mixed'],
];

function invalid(message: string): PostriderError {
  return new PostriderError('input-invalid', message);
}
