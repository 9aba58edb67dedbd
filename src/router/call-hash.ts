import { randomBytes } from 'node:crypto';
import type { Call } from '../event/call.ts';

const lanes = 3;
const seeds = new Int32Array(randomBytes((lanes + 1) * 4).buffer.slice(0, (lanes + 1) * 4));
const contentSeed = seeds[lanes] ?? 0;

/**
 * The fields that make a call what it is. A client that sends a call again changes its times, and may change its
 * context and integrations, which come from the batch or the gateway.
 */
const contentFields = [
  ...['event', 'name', 'category', 'groupId', 'previousId'],
  ...['properties', 'traits'],
];

/**
 * Identifies a call among others of its partition by 96 bits of a hash with a new seed in every process: at 10,000 calls
 * a second, one call would be mistaken for another once in 10^16 years. The results are fields, because a result object
 * would be garbage.
 */
export class CallHash {
  a = 0;
  b = 0;
  c = 0;

  /**
   * Two calls are the same one if the source, the write key, both ids of the user, the message id and the content are.
   * Write keys are public and ids can be guessed: a stranger's call must not take the place of another one.
   */
  of(
    sourceId: string,
    writeKey: string,
    { type, userId, anonymousId, messageId, fields }: Call,
  ): void {
    this.a = seeds[0] ?? 0;
    this.b = seeds[1] ?? 0;
    this.c = seeds[2] ?? 0;
    this.#add(messageId);
    this.#add(userId ?? '');
    let said = contentOfText(sourceId);
    said = mix(said ^ contentOfText(writeKey));
    said = mix(said ^ contentOfText(type));
    if (anonymousId !== undefined) said = mix(said ^ contentOfText(anonymousId));
    for (const field of contentFields) {
      const value = fields[field];
      said += 1;
      if (value !== undefined && value !== null) said = mix(said ^ contentOf(value));
    }
    this.#addNumber(said);
    const { a, b, c } = this;
    this.a = mix(a ^ (b >>> 16) ^ (c << 7));
    this.b = mix(b ^ (c >>> 15) ^ (a << 9));
    this.c = mix(c ^ (a >>> 14) ^ (b << 5));
  }

  /** The same for the same call, in this process. */
  get text(): string {
    return `${this.a} ${this.b} ${this.c}`;
  }

  /** Two characters a step. */
  #add(text: string): void {
    let { a, b, c } = this;
    for (let i = 0; i < text.length; i += 2) {
      const codes = codesAt(text, i);
      a = Math.imul(a ^ codes, 0x85ebca6b);
      a ^= a >>> 15;
      b = Math.imul(b + codes, 0xc2b2ae35);
      b ^= b >>> 13;
      c = Math.imul(c ^ codes, 0x27d4eb2f) + codes;
      c = (c << 11) | (c >>> 21);
    }
    this.a = a;
    this.b = b;
    this.c = c | 0;
    this.#addNumber(text.length);
  }

  #addNumber(number: number): void {
    this.a = Math.imul(this.a ^ number, 0x85ebca6b);
    this.b = Math.imul(this.b + number, 0xc2b2ae35);
    this.c = Math.imul(this.c ^ number, 0x27d4eb2f);
  }
}

/** Two characters, or the last one. The length distinguishes a text that ends in a zero character. */
function codesAt(text: string, at: number): number {
  const first = text.charCodeAt(at);
  return at + 1 < text.length ? first | (text.charCodeAt(at + 1) << 16) : first;
}

const double = new Float64Array(1);
const halves = new Int32Array(double.buffer);

/**
 * 32 bits of a JSON value, the same in any order of an object's keys: some clients write them in another order when they
 * send a call again. Each step is mixed whole, so that nobody who doesn't know the seed can make two values alike.
 */
function contentOf(value: unknown): number {
  if (typeof value === 'string') return contentOfText(value);
  if (typeof value === 'number') {
    double[0] = value;
    return mix(mix(contentSeed ^ (halves[0] ?? 0)) ^ (halves[1] ?? 0));
  }
  if (typeof value === 'object' && value !== null) return contentOfItems(value);
  return ~contentOfText(String(value));
}

function contentOfText(text: string): number {
  let hash = mix(contentSeed + text.length);
  for (let at = 0; at < text.length; at += 2) hash = mix(hash ^ codesAt(text, at));
  return hash;
}

function contentOfItems(items: object): number {
  let hash = contentSeed;
  if (Array.isArray(items)) {
    for (const item of items as unknown[]) hash = mix(hash + 1) ^ contentOf(item);
    return mix(hash);
  }
  for (const key in items) {
    const value = (items as Readonly<Record<string, unknown>>)[key];
    hash = (hash + mix(mix(contentOfText(key)) ^ contentOf(value))) | 0;
  }
  return ~mix(hash);
}

/** The finaliser of MurmurHash3: every bit of its argument changes every bit of its result. */
function mix(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
