import { maxCallBytes, maxDepth } from '../event/limits.ts';
import { DecodeError, tooDeep } from './decode-error.ts';

/** The longest a number gets as JSON, with what stands around a value. */
const valueBytes = 26;
/** Quotes, colon and comma around a key. */
const keyBytes = 4;
/** `\u0000` for one byte. */
const longestEscape = 6;

/**
 * What a decoder builds, kept within a call's limits while it grows: a few bytes can stand for much,
 * because a schema holds the names and an item of an array may take no byte at all.
 */
export class Output {
  /** At least what the JSON takes that is built. */
  #mostBytes = 0;
  #depth = 0;
  #values = 0;

  /** Of the bytes that are decoded, which all may end up as text. */
  constructor(inputBytes: number) {
    this.#mostBytes = inputBytes * longestEscape;
  }

  value(): void {
    this.#mostBytes += valueBytes;
    this.#values += 1;
    if (this.#values > maxCallBytes) throw tooLarge();
  }

  /** Of a record: `names` come from the schema, so they are not among the decoded bytes. */
  record(fields: number, namesBytes: number): void {
    this.#mostBytes += namesBytes + fields * keyBytes;
    this.enter();
  }

  enter(): void {
    this.value();
    this.#depth += 1;
    if (this.#depth > maxDepth) throw tooDeep();
  }

  leave(): void {
    this.#depth -= 1;
  }

  /** The exact size is looked at only where it could be too much. */
  check(call: object): void {
    if (this.#mostBytes <= maxCallBytes) return;
    if (Buffer.byteLength(JSON.stringify(call)) > maxCallBytes) throw tooLarge();
  }
}

function tooLarge(): DecodeError {
  const detail = `The decoded call has more than ${maxCallBytes} bytes as JSON.`;
  return new DecodeError('too-large', detail);
}

/** Assigning `__proto__` would change what the object is instead of what it has. */
export function setKey(object: Record<string, unknown>, key: string, value: unknown): void {
  // Most keys are told apart by their length.
  if (key.length === 9 && key === '__proto__') {
    const own = { value, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(object, key, own);
  } else {
    object[key] = value;
  }
}
