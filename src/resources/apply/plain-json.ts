import { interpolate, unmaskReferences, type Environment } from './interpolate.ts';

/**
 * The value of a masked file that is JSON without any mistake, with variables put in. The YAML library, which knows
 * lines, takes twenty times as long: half a minute for the resources of fifty thousand customers.
 * @returns undefined for everything else, which then has to be read in a way that can say what is wrong where
 */
export function readPlainJson(
  masked: string,
  environment: Environment,
): { readonly value: unknown } | undefined {
  if (!/^\s*[[{]/.test(masked)) return undefined;
  try {
    const reader = new PlainReader(environment);
    const value = reader.read(JSON.parse(masked));
    return reader.keys === keysIn(masked) ? { value } : undefined;
  } catch {
    // Not JSON, not plain, or nested so deep that V8 gives it up.
    return undefined;
  }
}

class PlainReader {
  readonly #environment: Environment;
  keys = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Throws for what is not plain. */
  read(value: unknown): unknown {
    if (typeof value === 'string') return value.includes('$') ? this.#resolve(value) : value;
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.read(item));
    const fields = value as Record<string, unknown>;
    for (const [key, field] of Object.entries(fields)) {
      this.keys += 1;
      // A key of this name would be lost in plain objects.
      if (key === '__proto__' || unmaskReferences(key) !== key) throw new NotPlain();
      fields[key] = this.read(field);
    }
    return fields;
  }

  #resolve(masked: string): string {
    const { text, reasons } = interpolate(masked, this.#environment);
    if (reasons.length > 0) throw new NotPlain();
    return text;
  }
}

class NotPlain extends Error {}

/** `JSON.parse` keeps the last of two equal keys and says nothing; the text has more keys than the value then. */
function keysIn(json: string): number {
  let keys = 0;
  for (const [text] of json.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?/g))
    if (text.endsWith(':')) keys += 1;
  return keys;
}
