import { maxCallBytes, maxDepth } from '../event/limits.ts';
import type { Rejection } from '../event/rejection.ts';

/** The longest number in JSON, with the characters around a value. */
const valueBytes = 26;
/** Quotes, colon and comma around a key. */
const keyBytes = 4;
/** `\u0000` for one byte. */
const longestEscape = 6;

/**
 * The value that a decoder builds, kept within a call's limits while it grows. A few bytes can decode to a
 * lot, because a schema contains the names, and an item of an array may take no byte at all.
 */
export class Output {
  /** A lower bound for the size of the JSON. */
  #mostBytes = 0;
  #depth = 0;
  #values = 0;
  #madeCharacters = 0;

  /** For the decoded bytes, which may all end up as text. */
  constructor(inputBytes: number) {
    this.#mostBytes = inputBytes * longestEscape;
  }

  value(): void {
    this.#mostBytes += valueBytes;
    this.#values += 1;
    if (this.#values > maxCallBytes) throw tooLarge();
  }

  /** Counts a record: `names` come from the schema, so they are not among the decoded bytes. */
  record(fields: number, namesBytes: number): void {
    this.#mostBytes += namesBytes + fields * keyBytes;
    this.enter();
  }

  /** Counts text that is made here, of at least so many characters, before it is made. */
  text(characters: number): void {
    this.#mostBytes += characters;
    this.#madeCharacters += characters;
    if (this.#madeCharacters > maxCallBytes) throw tooLarge();
  }

  enter(): void {
    this.value();
    this.#depth += 1;
    if (this.#depth > maxDepth) throw tooDeep();
  }

  leave(): void {
    this.#depth -= 1;
  }

  /** The exact size is computed only if it could be too much. */
  check(call: object): void {
    if (this.#mostBytes <= maxCallBytes) return;
    if (Buffer.byteLength(JSON.stringify(call)) > maxCallBytes) throw tooLarge();
  }
}

function tooLarge(): DecodeError {
  const detail = `The decoded call has more than ${maxCallBytes} bytes as JSON.`;
  return new DecodeError('too-large', detail);
}

/** Assigning `__proto__` would change the object's prototype instead of adding a key. */
export function setKey(object: Record<string, unknown>, key: string, value: unknown): void {
  // The length alone rules out most keys.
  if (key.length === 9 && key === '__proto__') {
    const own = { value, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(object, key, own);
  } else {
    object[key] = value;
  }
}

/** Thrown inside a decoder and caught at its end: why the bytes are not a call. */
export class DecodeError extends Error {
  readonly rejection: Rejection;

  constructor(reason: Rejection['reason'], detail: string) {
    super(detail);
    this.rejection = { reason, detail };
  }
}

export function misfit(detail: string): DecodeError {
  return new DecodeError('undecodable', detail);
}

export function tooDeep(): DecodeError {
  return new DecodeError('too-deep', `Objects and arrays are nested deeper than ${maxDepth}.`);
}
