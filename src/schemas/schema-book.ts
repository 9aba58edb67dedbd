import { PostriderError } from '../errors.ts';
import type { Rejection } from '../event/rejection.ts';
import type { Clock } from '../ops/clock.ts';
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
  readonly clock: Clock;
  /** The registry could not be asked; it is asked again. */
  readonly onFailure: (error: unknown) => void;
}

/** A producer writes its first record right after it registered the schema: a registry's replica may not have it yet. */
const askAgainMs = 1_000;
/** How long an id counts as unknown. */
export const unknownForMs: number = 60_000;
const firstBackoffMs = 500;
const longestBackoffMs = 15_000;
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

  constructor(options: SchemaBookOptions) {
    this.#options = options;
  }

  find(id: number): KnownSchema | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.untilMs > this.#options.clock.now()) return entry?.known;
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
    let backoffMs = firstBackoffMs;
    let unknownTimes = 0;
    for (;;) {
      try {
        this.#keep(id, knownSchema(id, await this.#options.fetchSchema(id)), Infinity);
        return;
      } catch (error) {
        if (error instanceof PostriderError && error.code === 'not-found') {
          unknownTimes += 1;
          if (unknownTimes > 1) {
            this.#keep(id, unknownSchema(id), this.#options.clock.now() + unknownForMs);
            return;
          }
          await this.#delay(askAgainMs);
        } else {
          this.#options.onFailure(error);
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
