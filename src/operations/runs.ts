import { randomBytes } from 'node:crypto';
import { PostriderError } from '../errors.ts';
import type { Clock, Timer } from '../ops/clock.ts';
import { ProblemError } from '../http-api/problem.ts';
import type { RunOutcome } from '../event/audit-entry.ts';
import type { Work } from './operations.ts';

/** The progress of a run, or its end. */
export interface RunProgress {
  /** That of the entry in the audit with which it began. */
  readonly id: string;
  readonly state: 'counting' | 'running' | 'done' | 'failed';
  readonly found: number;
  /** Events that were sent, or users deleted. */
  readonly sent: number;
  readonly outcome?: RunOutcome;
  readonly detail?: string;
}

/** So many ended ones are remembered, for whoever looks what became of theirs. */
const mostRemembered = 100;
/** At a time: all dead letters are read for one. */
const mostCounts = 2;
/** A page asks each second how far its count is. */
const unaskedMs = 15_000;

interface Known {
  progress: RunProgress;
  /** Somebody waits for it still. */
  readonly asked: () => void;
}

/** Events on their way again: what runs in this process, and what ran last. */
export class Runs {
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #counts = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(id: string): RunProgress | undefined {
    const known = this.#known.get(id);
    known?.asked();
    return known?.progress;
  }

  /**
   * Begins it and returns at once.
   * @param id of its entry in the audit
   * @param onEnd called once, with what is to be told of it
   */
  start(id: string, work: Work, onEnd: (ended: RunProgress) => void): RunProgress {
    const known = this.#remember(id, 'running', () => undefined);
    const onSent = (): void => {
      const sent = known.progress.sent + 1;
      known.progress = { ...known.progress, sent, found: sent };
    };
    const running = ended(known, work({ signal: this.#stopping.signal, onSent })).then(() => {
      this.#running.delete(running);
      onEnd(known.progress);
    });
    this.#running.add(running);
    return known.progress;
  }

  /**
   * Begins to count what `work` tells of, and returns at once. It ends when nobody has asked for a while.
   * @throws ProblemError 503 while several are counted
   */
  count(work: Work): RunProgress {
    const unasked = new AbortController();
    const endLater = (): Timer =>
      this.#clock.after(unaskedMs, () => {
        unasked.abort();
      });
    let timer = endLater();
    const asked = (): void => {
      timer.cancel();
      if (known.progress.state === 'counting') timer = endLater();
    };
    const { known, end } = this.#beginCount(work, unasked.signal, asked);
    void end.then(() => {
      timer.cancel();
    });
    return known.progress;
  }

  /**
   * Counts what `work` tells of, for so long at most.
   * @returns `isCut` where there may be more than was counted
   * @throws ProblemError 503 while several are counted
   */
  async countWithin(
    mostMs: number,
    work: Work,
  ): Promise<RunProgress & { readonly isCut: boolean }> {
    const over = new AbortController();
    const timer = this.#clock.after(mostMs, () => {
      over.abort();
    });
    const { known, end } = this.#beginCount(work, over.signal, () => undefined);
    await end;
    timer.cancel();
    const { progress } = known;
    const isCut = over.signal.aborted && progress.state === 'failed';
    if (!isCut) return { ...progress, isCut };
    const { id, found, sent } = progress;
    return { id, state: 'done', found, sent, isCut };
  }

  #beginCount(
    work: Work,
    ending: AbortSignal,
    asked: () => void,
  ): { readonly known: Known; readonly end: Promise<void> } {
    if (this.#counts >= mostCounts)
      throw new ProblemError(503, 'Several are being counted; try again in a moment.');
    const known = this.#remember(randomBytes(8).toString('hex'), 'counting', asked);
    const onSent = (): void => {
      known.progress = { ...known.progress, found: known.progress.found + 1 };
    };
    const signal = AbortSignal.any([ending, this.#stopping.signal]);
    this.#counts += 1;
    const end = ended(known, work({ signal, onSent })).then(() => {
      this.#counts -= 1;
    });
    return { known, end };
  }

  /** Ends all early; the same redrive goes on later where they ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  #remember(id: string, state: RunProgress['state'], asked: () => void): Known {
    const known = { progress: { id, state, found: 0, sent: 0 }, asked };
    this.#known.set(id, known);
    for (const [oldest, { progress }] of this.#known) {
      if (this.#known.size <= mostRemembered) break;
      if (progress.state === 'done' || progress.state === 'failed') this.#known.delete(oldest);
    }
    return known;
  }
}

/** Resolves once it is known how it ended. */
async function ended(known: Known, work: ReturnType<Work>): Promise<void> {
  try {
    const end = await work;
    known.progress = { ...known.progress, ...end, state: 'done' };
  } catch (error) {
    known.progress = { ...known.progress, state: 'failed', detail: sentenceOf(error) };
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof PostriderError ? error.message : 'It failed; the log says why.';
}
