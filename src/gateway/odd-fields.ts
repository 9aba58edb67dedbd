import { callFields } from '../event/call.ts';
import type { JsonObject } from '../event/read-json.ts';
import { almost } from '../near.ts';
import { isObject } from './read-request.ts';

/** Why a field is probably a mistake. The call itself stays as it is. */
export const oddFieldReasons = ['misspelt', 'not-an-object'] as const;

export interface Oddity {
  readonly reason: (typeof oddFieldReasons)[number];
  /** The field as it was sent. */
  readonly field: string;
  /** The field that was probably meant; for other reasons, the same field. */
  readonly meant: string;
}

const objects = ['properties', 'traits', 'context', 'integrations'] as const;

/** Also fields of other call types, which are no mistakes. */
const known: ReadonlySet<string> = new Set(callFields);

/** Senders use the same few names in all their calls. */
const mostRemembered = 1_000;
const meantBy = new Map<string, string | undefined>();
/** A known name with three letters too many, and a few characters that don't count. */
const longestName = 32;
/** A look takes as long as the whole rest of a small call. A sender chooses how many names there are. */
const mostLooks = 20;

/** The suspicious fields of one request's calls. */
export class Oddities {
  readonly found: Oddity[] = [];
  #looksLeft = mostLooks;

  /** Checks one call as it was sent. */
  check(call: JsonObject): void {
    for (const field in call) {
      if (known.has(field) || field.length > longestName) continue;
      const meant = this.#meaning(field);
      if (meant !== undefined && call[meant] === undefined)
        this.found.push({ reason: 'misspelt', field, meant });
    }
    for (const field of objects) {
      const value = call[field];
      if (value === undefined || value === null || isObject(value)) continue;
      this.found.push({ reason: 'not-an-object', field, meant: field });
    }
  }

  #meaning(field: string): string | undefined {
    if (meantBy.has(field)) return meantBy.get(field);
    if (this.#looksLeft === 0) return undefined;
    this.#looksLeft -= 1;
    if (meantBy.size >= mostRemembered) meantBy.clear();
    const meant = almost(field, known);
    meantBy.set(field, meant);
    return meant;
  }
}
