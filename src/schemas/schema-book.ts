import { PostriderError } from '../errors.ts';
import type { Rejection } from '../event/rejection.ts';
import type { SteadyClock } from '../ops/clock.ts';
import { createDecoder, type Decoder } from './decoder.ts';
import type { RegisteredSchema } from './registered-schema.ts';

/** A schema to decode with, or why records that name it cannot be decoded. */
export type KnownSchema =
  | { readonly decode: Decoder; readonly rejection?: undefined }
  | { readonly decode?: undefined; readonly rejection: Rejection };

/** What the router needs to read typed records. */
export interface Schemas {
  /** Undefined: not known yet. */
  find(id: number): KnownSchema | undefined;
  /** Resolves once `find` knows the schema; while the registry is away, not at all. */
  settled(id: number): Promise<void>;
}

export interface SchemaBookOptions {
  /** @throws PostriderError `not-found`, `registry-unavailable` */
  readonly fetchSchema: (id: number) => Promise<RegisteredSchema>;
  /**
   * Whether the registry shows that it has read what was registered. `knownId`: a schema that it once gave.
   * @throws PostriderError `registry-unavailable`
   */
  readonly isAwake: (knownId: number | undefined) => Promise<boolean>;
  readonly clock: SteadyClock;
  /** It did not give the schema, `not-found` or `registry-unavailable`; it is asked again. */
  readonly onDelay: (id: number, error: unknown) => void;
}

/** A producer writes its first record right after it registered the schema: a registry's replica may not have it yet. */
const askAgainMs = 1_000;
/** A registry that has just started knows no schema until it has read them all; Karapace takes 2 s for 10,000. */
const believedAfterMs = 15_000;
/** How long an id counts as unknown. */
export const unknownForMs: number = 60_000;
const firstBackoffMs = 500;
const longestBackoffMs = 15_000;
/** Registries number their schemas with signed 32-bit integers: what they say of a larger number is not about a schema. */
const largestId = 0x7fffffff;
/** A schema never changes under its id; this only bounds the memory. */
const mostSchemas = 10_000;

interface Entry {
  readonly known: KnownSchema;
  readonly untilMs: number;
}

/** Schemas by id, asked for once, and kept. */
export class SchemaBook implements Schemas {
  readonly #options: SchemaBookOptions;
  readonly #entries = new Map<number, Entry>();
  readonly #lookups = new Map<number, Promise<void>>();
  /** Schemas are numbered as they are registered: a registry that knows the last one has read the others. */
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
        // Before it is asked for the schema, so that it was awake when it did not know it.
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
          // It may be starting just now: what it said before counts no longer.
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

/** Without a registry, no schema is known. */
export const noRegistry: Schemas = {
  find: (id) => {
    const detail = `The value names the schema ${id}, and SCHEMA_REGISTRY_URL is not set.`;
    return { rejection: { reason: 'no-registry', detail } };
  },
  settled: () => Promise.resolve(),
};
