import { PostriderError } from '../../errors.ts';
import type { SecretKeys } from './secrets.ts';
import {
  decodeResource,
  encodeResource,
  needsNewKey,
  openResource,
  parseRecordKey,
} from './stored.ts';

/** A record of the `config` topic to write; a null value deletes. */
export interface Rewrite {
  readonly key: string;
  readonly value: string | null;
}

/** What is to be done, as far as the topic has been read. */
export interface RotationPlan {
  readonly rewrites: readonly Rewrite[];
  /** Of resources that neither key can read: why, one sentence each. */
  readonly unreadable: readonly string[];
}

/**
 * Follows the `config` topic's raw records while they are encrypted anew. Somebody may write a resource
 * after it was read here and before its rewrite lands, which would undo their change: such a rewrite is
 * recognised when it comes by, and their version is written once more. Knows nothing of Kafka.
 */
export class Rotation {
  readonly #keys: SecretKeys;
  /** By record key, what others wrote last; null where they deleted. */
  readonly #versions = new Map<string, string | null>();
  readonly #written = new Map<
    string,
    { readonly from: string | null; readonly to: string | null }
  >();
  readonly #undone = new Set<string>();

  constructor(keys: SecretKeys) {
    this.#keys = keys;
  }

  /** Every record of the topic, in its order. */
  accept(key: string, value: string | null): void {
    const own = this.#written.get(key);
    if (own !== undefined && own.to === value && this.#versions.get(key) !== own.from) {
      this.#undone.add(key);
      return;
    }
    this.#undone.delete(key);
    this.#versions.set(key, value);
  }

  /** The topic was deleted and made again. */
  restart(): void {
    this.#versions.clear();
    this.#written.clear();
    this.#undone.clear();
  }

  plan(): RotationPlan {
    const rewrites: Rewrite[] = [];
    const unreadable: string[] = [];
    for (const [key, value] of this.#versions) {
      try {
        const encrypted = value === null ? null : encryptAnew(key, value, this.#keys);
        if (encrypted !== value || this.#undone.has(key)) rewrites.push({ key, value: encrypted });
      } catch (error) {
        if (!(error instanceof PostriderError)) throw error;
        unreadable.push(error.message);
        if (this.#undone.has(key)) rewrites.push({ key, value });
      }
    }
    return { rewrites, unreadable };
  }

  /** Call before they are written. */
  begin(rewrites: readonly Rewrite[]): void {
    for (const { key, value } of rewrites) {
      this.#written.set(key, { from: this.#versions.get(key) ?? null, to: value });
    }
  }
}

/** The same text where nothing is encrypted with another key than the current one. */
function encryptAnew(key: string, value: string, keys: SecretKeys): string {
  const name = parseRecordKey(key);
  if (name === undefined) {
    const message = `the config topic's record ${JSON.stringify(key.slice(0, 100))} is of a kind unknown to this version`;
    throw new PostriderError('resource-invalid', message);
  }
  const sealed = decodeResource(name, value);
  return needsNewKey(sealed, keys) ? encodeResource(openResource(sealed, keys), keys) : value;
}
