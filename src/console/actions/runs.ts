import { randomBytes } from 'node:crypto';
import { PostriderError } from '../../errors.ts';
import type { Redrive } from '../api/model.ts';
import type { Run, RunEnd } from './operations.ts';

/** So many ended ones are remembered, for whoever looks what became of theirs. */
const mostRemembered = 100;

interface Known {
  redrive: Redrive;
}

/** Events on their way again: what runs in this process, and what ran last. */
export class Runs {
  readonly #known = new Map<string, Known>();
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();

  find(id: string): Redrive | undefined {
    return this.#known.get(id)?.redrive;
  }

  /**
   * Begins it and returns at once.
   * @param found how many events it is about, as far as is known
   * @param onEnd called once, with what is to be told of it
   */
  start(
    found: number,
    work: (run: Run) => Promise<RunEnd>,
    onEnd: (ended: Redrive) => void,
  ): Redrive {
    const id = randomBytes(8).toString('hex');
    const known: Known = { redrive: { id, state: 'running', found, sent: 0 } };
    this.#known.set(id, known);
    this.#forgetOldest();
    const running = work({
      signal: this.#stopping.signal,
      onSent: () => {
        const { found: expected, sent } = known.redrive;
        known.redrive = { ...known.redrive, sent: sent + 1, found: Math.max(expected, sent + 1) };
      },
    })
      .then(
        (end) => {
          known.redrive = { ...known.redrive, ...end, state: 'done' };
        },
        (error: unknown) => {
          known.redrive = { ...known.redrive, state: 'failed', detail: sentenceOf(error) };
        },
      )
      .then(() => {
        this.#running.delete(running);
        onEnd(known.redrive);
      });
    this.#running.add(running);
    return known.redrive;
  }

  /** Ends all early; the same redrive goes on later where they ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  #forgetOldest(): void {
    for (const [id, { redrive }] of this.#known) {
      if (this.#known.size <= mostRemembered) return;
      if (redrive.state === 'done' || redrive.state === 'failed') this.#known.delete(id);
    }
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof PostriderError ? error.message : 'It failed; the log says why.';
}
