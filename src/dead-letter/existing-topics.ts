import { PostriderError } from '../errors.ts';
import type { Objection } from './sift.ts';

/**
 * Objects to letters whose topic does not exist: a producer would wait for it, and all others behind it. Each topic is
 * looked for once, when the first letter needs it.
 */
export class ExistingTopics {
  readonly #require: (topic: string) => Promise<void>;
  readonly #exists = new Map<string, boolean>();

  /** @param require rejects with PostriderError `not-found` if there is no such topic */
  constructor(require: (topic: string) => Promise<void>) {
    this.#require = require;
  }

  async objection(topic: string): Promise<Objection | undefined> {
    const exists = this.#exists.get(topic) ?? (await this.#look(topic));
    if (exists) return undefined;
    return {
      why: 'because their topic does not exist',
      name: topic,
      remedy: '`postrider topics --create` creates it',
    };
  }

  async #look(topic: string): Promise<boolean> {
    try {
      await this.#require(topic);
    } catch (error) {
      if (!(error instanceof PostriderError)) throw error;
      // While Kafka is away, nothing is written either. Where a right is missing, the producer says which. The next
      // letter looks again.
      if (error.code !== 'not-found') return true;
      this.#exists.set(topic, false);
      return false;
    }
    this.#exists.set(topic, true);
    return true;
  }
}
