import { isDeepStrictEqual } from 'node:util';
import type { Logger } from './log.ts';

/** Many connections are opened at a time, e.g. after a broker's restart. */
const lookAgainMs = 1_000;

export interface FollowedOptions<T> {
  /** The settings that name the files. */
  readonly what: string;
  /** Throws where the files cannot be used. */
  readonly read: () => T;
  /** The users of the files, for the log. */
  readonly usedBy: string;
  readonly log: Logger;
}

/**
 * A value that is read from files which change while the process runs. What cannot be used, such as a certificate
 * whose key has not come yet, changes nothing: the former value stays, and a line in the log says so.
 */
export class Followed<T> {
  readonly #options: FollowedOptions<T>;
  #value: T;
  #problem: string | undefined;
  #lookedAtMs: number;

  /** Throws what `read` throws. */
  constructor(options: FollowedOptions<T>) {
    this.#options = options;
    this.#value = options.read();
    this.#lookedAtMs = performance.now();
  }

  /** The value as of the last look: the same object until the files have changed. */
  get value(): T {
    return this.#value;
  }

  /** The value as it is now, give or take a second. */
  current(): T {
    if (performance.now() - this.#lookedAtMs >= lookAgainMs) this.look();
    return this.#value;
  }

  /** Reads the files. Their contents are compared: Kubernetes exchanges a folder of links, others write in place. */
  look(): void {
    const { what, usedBy, log } = this.#options;
    this.#lookedAtMs = performance.now();
    let read: T;
    try {
      read = this.#options.read();
    } catch (error) {
      const problem = (error as Error).message;
      if (problem !== this.#problem) log.warn({}, `${problem}; what was read before stays in use`);
      this.#problem = problem;
      return;
    }
    this.#problem = undefined;
    if (isDeepStrictEqual(read, this.#value)) return;
    this.#value = read;
    log.info({}, `${what} changed; ${usedBy} use it`);
  }
}
