import { PostriderError } from '../errors.ts';
import type { SteadyClock } from '../ops/clock.ts';
import { createDecoder } from './decoder.ts';
import type { RegisteredSchema } from './registered-schema.ts';
import type { KnownSchema, Schemas } from './schemas.ts';

export interface SchemaBookOptions {
  /** @throws PostriderError `not-found`, `registry-unavailable` */
  readonly fetchSchema: (id: number) => Promise<RegisteredSchema>;
  /**
   * Says whether the registry shows that it has loaded all schemas.
   * @param knownId a schema that it returned before
   * @throws PostriderError `registry-unavailable`
   */
  readonly isAwake: (knownId: number | undefined) => Promise<boolean>;
  readonly clock: SteadyClock;
  /** The registry did not return the schema: `not-found` or `registry-unavailable`. It is asked again. */
  readonly onDelay: (id: number, error: unknown) => void;
}

/**
 * A producer writes its first record right after it registered the schema, which a replica of the registry
 * may not have yet.
 */
const askAgainMs = 1_000;
/** A registry that has just started has no schema until it has loaded them all. */
const believedAfterMs = 15_000;
/** The time for which an id counts as unknown. */
export const unknownForMs: number = 60_000;
const firstBackoffMs = 500;
const longestBackoffMs = 15_000;
/**
 * Registries number their schemas with signed 32-bit integers, so an answer about a larger number is not
 * about a schema.
 */
const largestId = 0x7fffffff;
/** A schema never changes under its id, so this only bounds the memory. */
const mostSchemas = 10_000;

interface Entry {
  readonly known: KnownSchema;
  readonly untilMs: number;
}

/** Schemas by id, requested once and kept. */
export class SchemaBook implements Schemas {
  readonly #options: SchemaBookOptions;
  readonly #entries = new Map<number, Entry>();
  readonly #lookups = new Map<number, Promise<void>>();
  /**
   * Schemas are numbered as they are registered. A registry that has the last known one has loaded the
   * earlier ones.
   */
  #largestKnown: number | undefined;

  constructor(options: SchemaBookOptions) {
    this.#options = options;
  }

  find(id: number): KnownSchema | undefined {
    if (id > largestId) return unknownSchema(id);
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.untilMs > this.#options.clock.steadyNow()) return entry?.known;
    this.#entries.delete(id);
    return undefined;
  }

  settled(id: number): Promise<void> {
    let lookup = this.#lookups.get(id);
    if (lookup === undefined) {
      lookup = this.#lookUp(id).finally(() => this.#lookups.delete(id));
      this.#lookups.set(id, lookup);
    }
    return lookup;
  }

  async #lookUp(id: number): Promise<void> {
    const { clock, fetchSchema, isAwake, onDelay } = this.#options;
    let backoffMs = firstBackoffMs;
    let unknownSinceMs: number | undefined;
    for (;;) {
      let awake = false;
      try {
        // Checked before the schema is requested, so that the registry was ready when it did not find the
        // schema.
        awake = unknownSinceMs !== undefined && (await isAwake(this.#largestKnown));
        this.#keep(id, knownSchema(id, await fetchSchema(id)), Infinity);
        this.#largestKnown = Math.max(id, this.#largestKnown ?? 0);
        return;
      } catch (error) {
        if (error instanceof PostriderError && error.code === 'not-found') {
          const nowMs = clock.steadyNow();
          unknownSinceMs ??= nowMs;
          if (awake || nowMs - unknownSinceMs >= believedAfterMs) {
            this.#keep(id, unknownSchema(id), nowMs + unknownForMs);
            return;
          }
          onDelay(id, error);
          await this.#delay(askAgainMs);
        } else {
          // The registry may be starting, so its earlier answers no longer count.
          unknownSinceMs = undefined;
          onDelay(id, error);
          await this.#delay(backoffMs);
          backoffMs = Math.min(backoffMs * 2, longestBackoffMs);
        }
      }
    }
  }

  #keep(id: number, known: KnownSchema, untilMs: number): void {
    if (this.#entries.size >= mostSchemas) {
      for (const oldest of this.#entries.keys()) {
        this.#entries.delete(oldest);
        break;
      }
    }
    this.#entries.set(id, { known, untilMs });
  }

  #delay(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#options.clock.after(delayMs, resolve);
    });
  }
}

function knownSchema(id: number, schema: RegisteredSchema): KnownSchema {
  try {
    return { decode: createDecoder(schema) };
  } catch (error) {
    const reason = String(error).slice(0, 200);
    const detail = `Schema ${id} cannot be used: ${reason}.`;
    return { rejection: { reason: 'unusable-schema', detail } };
  }
}

function unknownSchema(id: number): KnownSchema {
  const detail = `The schema registry does not know the schema ${id}.`;
  return { rejection: { reason: 'unknown-schema', detail } };
}
