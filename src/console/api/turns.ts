import { ProblemError } from './problem.ts';

/** Half of what is read at a time: Node runs four queries, and the others are for staff and other customers. */
const mostAtATime = 2;
/** Some pages that are open at once ask for less. */
const mostWaiting = 32;

interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

/** Requests of each customer are answered in turn, however many a link is used for. */
export class Turns {
  /** By customer. */
  readonly #lines = new Map<string, Line>();

  /**
   * Resolves when it is the turn of a request, with what ends it.
   * @throws ProblemError 429 where too many wait already
   */
  async begin(customer: string): Promise<() => void> {
    const line = this.#lines.get(customer) ?? { running: 0, waiting: [] };
    this.#lines.set(customer, line);
    if (line.running < mostAtATime) line.running += 1;
    else if (line.waiting.length < mostWaiting)
      await new Promise<void>((resolve) => line.waiting.push(resolve));
    else
      throw new ProblemError(
        429,
        'Your link has too many requests under way; try again in a moment.',
      );
    return () => {
      this.#end(customer, line);
    };
  }

  /** The next one takes its place. */
  #end(customer: string, line: Line): void {
    const next = line.waiting.shift();
    if (next !== undefined) next();
    else line.running -= 1;
    if (line.running === 0) this.#lines.delete(customer);
  }
}
