/** One line without its line break. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** For a line that is longer than the limit, only its beginning, which is longer too. */
  readonly bytes: Buffer;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Splits chunks into lines. Yields together all lines that a chunk completes, and keeps little more than one
 * line's limit.
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  limitBytes: number,
): AsyncGenerator<Line[], void, undefined> {
  // One byte to detect a line that is too long, and one that may belong to the line break.
  const rest = new Beginning(limitBytes + 2);
  let number = 1;
  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      rest.add(chunk.subarray(start, end));
      lines.push({ number, bytes: withoutReturn(rest.take()) });
      number += 1;
      start = end + 1;
    }
    rest.add(chunk.subarray(start));
    if (lines.length > 0) yield lines;
  }
  const last = rest.take();
  if (last.length > 0) yield [{ number, bytes: withoutReturn(last) }];
}

/** The beginning of a line, in the parts that chunks had of it. */
class Beginning {
  readonly #mostBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  add(part: Buffer): void {
    const taken = part.subarray(0, this.#mostBytes - this.#bytes);
    if (taken.length === 0) return;
    this.#parts.push(taken);
    this.#bytes += taken.length;
  }

  take(): Buffer {
    const parts = this.#parts;
    this.#parts = [];
    this.#bytes = 0;
    const [first] = parts;
    return first !== undefined && parts.length === 1 ? first : Buffer.concat(parts);
  }
}

function withoutReturn(line: Buffer): Buffer {
  return line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
}
