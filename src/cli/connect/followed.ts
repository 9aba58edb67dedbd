import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../ops/log.ts';

/** Many connections are opened at a time, e.g. after a broker's restart. */
const lookAgainMs = 1_000;

/**
 * A value that is read from files which change while the process runs. What cannot be used, such as a certificate
 * whose key has not come yet, changes nothing: the former value stays, and a line in the log says so.
 */
export class Followed<T> {
  readonly #read: () => T;
  /** The settings that name the files. */
  readonly #what: string;
  readonly #log: Logger;
  #value: T;
  #problem: string | undefined;
  #lookedAtMs: number;

  /** @param read throws where the files cannot be used; so does this constructor */
  constructor(what: string, read: () => T, log: Logger) {
    this.#what = what;
    this.#read = read;
    this.#log = log;
    this.#value = read();
    this.#lookedAtMs = performance.now();
  }

  /** As of the last look: the same object until the files have changed. */
  get value(): T {
    return this.#value;
  }

  /** As it is now, give or take a second. */
  current(): T {
    if (performance.now() - this.#lookedAtMs >= lookAgainMs) this.look();
    return this.#value;
  }

  /** Reads the files. Their contents are compared: Kubernetes exchanges a folder of links, others write in place. */
  look(): void {
    this.#lookedAtMs = performance.now();
    let read: T;
    try {
      read = this.#read();
    } catch (error) {
      const problem = (error as Error).message;
      if (problem !== this.#problem)
        this.#log.warn({}, `${problem}; what was read before stays in use`);
      this.#problem = problem;
      return;
    }
    this.#problem = undefined;
    if (isDeepStrictEqual(read, this.#value)) return;
    this.#value = read;
    this.#log.info({}, `${this.#what} changed; new connections use it`);
  }
}
