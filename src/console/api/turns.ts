import { inTime } from '../../http-api/in-time.ts';
import { ProblemError } from '../../http-api/problem.ts';

/** Half of what is read at a time: Node runs four queries, and the others are for staff and other customers. */
const mostAtATime = 2;
/** Some pages that are open at once ask for less. */
const mostRequestsWaiting = 32;

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
    else if (line.waiting.length < mostRequestsWaiting)
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

interface Waiting {
  /** Undefined: staff. */
  readonly customer: string | undefined;
  readonly begin: () => void;
}

/** Readings of customers that wait. Each customer may have two requests at a time, so these are many customers. */
const mostReadingsWaiting = 64;
/** A customer rests as long as the last reading took, and no longer. */
const mostRestMs = 1_000;

/**
 * Readings of Kafka that may take long. What comes while too many run waits for its turn: staff first, and one of the
 * places is theirs alone, or a few customers would keep them out. One that nobody waits for any more counts until it
 * ends: whoever has waited in vain asks again.
 */
export class LongReadings {
  readonly #most: number;
  #running = 0;
  /** Customers with a reading, or with a pause after one. */
  readonly #busy = new Set<string>();
  #customers = 0;
  readonly #waiting = new Set<Waiting>();

  /** @param most at a time */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * @param read is told when nobody waits for it any more
   * @param customer has one at a time, and rests after it
   * @throws ProblemError 503 after ten seconds of waiting for its turn or of reading, and at once for a customer while too many customers wait
   */
  async run<T>(read: (over: AbortSignal) => Promise<T>, customer?: string): Promise<T> {
    const over = new AbortController();
    try {
      await this.#turn(customer);
      return await inTime(this.#counted(customer, () => read(over.signal)));
    } finally {
      over.abort();
    }
  }

  async #turn(customer: string | undefined): Promise<void> {
    const waiting = [...this.#waiting];
    const customers = waiting.filter((each) => each.customer !== undefined).length;
    if (customer !== undefined && customers >= mostReadingsWaiting)
      throw new ProblemError(503, isBusy);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const mine = {
      customer,
      begin: () => {
        resolve(undefined);
      },
    };
    this.#waiting.add(mine);
    this.#beginNext();
    try {
      await inTime(promise, isBusy);
    } catch (error) {
      this.#waiting.delete(mine);
      throw error;
    }
  }

  #beginNext(): void {
    for (;;) {
      const next = this.#next();
      if (next === undefined) return;
      const { customer } = next;
      this.#waiting.delete(next);
      this.#running += 1;
      if (customer !== undefined) {
        this.#customers += 1;
        this.#busy.add(customer);
      }
      next.begin();
    }
  }

  /** The first of staff, else of customers whose turn it can be. */
  #next(): Waiting | undefined {
    if (this.#running >= this.#most) return undefined;
    const waiting = [...this.#waiting];
    const staff = waiting.find(({ customer }) => customer === undefined);
    if (staff !== undefined) return staff;
    // With one place in all, it is everybody's.
    if (this.#customers >= Math.max(1, this.#most - 1)) return undefined;
    return waiting.find(({ customer = '' }) => !this.#busy.has(customer));
  }

  async #counted<T>(customer: string | undefined, read: () => Promise<T>): Promise<T> {
    const beganMs = performance.now();
    try {
      return await read();
    } finally {
      this.#running -= 1;
      if (customer !== undefined) {
        this.#customers -= 1;
        const restMs = Math.min(mostRestMs, performance.now() - beganMs);
        setTimeout(() => {
          this.#busy.delete(customer);
          this.#beginNext();
        }, restMs).unref();
      }
      this.#beginNext();
    }
  }
}

const isBusy = 'Many events are being looked up; try again in a moment.';
