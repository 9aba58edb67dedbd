/** One line without its line break. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** For a line that is longer than the limit, only its beginning, which is longer too. */
  readonly bytes: Buffer;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const nothing = Buffer.alloc(0);

/**
 * Splits chunks into lines. Yields together all lines that a chunk completes, and keeps little more than one
 * line's limit.
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  limitBytes: number,
): AsyncGenerator<Line[], void, undefined> {
  // One byte to detect a line that is too long, and one that may belong to the line break.
  const keepBytes = limitBytes + 2;
  let number = 1;
  let rest: Buffer = nothing;
  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      const line = join(rest, chunk.subarray(start, end), keepBytes);
      lines.push({ number, bytes: withoutReturn(line) });
      number += 1;
      rest = nothing;
      start = end + 1;
    }
    rest = join(rest, chunk.subarray(start), keepBytes);
    if (lines.length > 0) yield lines;
  }
  if (rest.length > 0) yield [{ number, bytes: withoutReturn(rest) }];
}

function join(head: Buffer, tail: Buffer, mostBytes: number): Buffer {
  const taken = tail.subarray(0, Math.max(0, mostBytes - head.length));
  return head.length === 0 ? taken : Buffer.concat([head, taken]);
}

function withoutReturn(line: Buffer): Buffer {
  return line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
}
