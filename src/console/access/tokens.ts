import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { PostriderError } from '../../errors.ts';
import type { Clock } from '../../ops/clock.ts';
import { networkOf } from '../../ops/connection-limit.ts';
import { Followed } from '../../ops/followed.ts';
import type { Logger } from '../../ops/log.ts';
import { parseDocuments } from '../../resources/apply/document.ts';
import { noVariables } from '../../resources/apply/interpolate.ts';
import { formatPath, formatProblem } from '../../resources/problem.ts';
import { ProblemError } from '../api/problem.ts';
import { keyFor, macOf, sha256 } from './signed.ts';

/** Somebody, or a program, whose token is known by its SHA-256 only. */
interface KnownToken {
  readonly name: string;
  readonly role: 'viewer' | 'operator';
  /** 64 hexadecimal digits. */
  readonly sha256: string;
}

const ofNothing = sha256('').toString('hex');
const schema = z.strictObject({
  name: z.string('must be text').min(1, 'must not be empty').max(100, 'at most 100 characters'),
  role: z.enum(['viewer', 'operator'], 'must be viewer or operator'),
  sha256: z
    .string('must be text, in quotes')
    .regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of a token, 64 hexadecimal digits')
    .toLowerCase()
    .refine((hash) => hash !== ofNothing, 'is the SHA-256 of an empty text, which is no token'),
});

/** @throws PostriderError `setting-invalid` with the first thing that is wrong, and its line */
export function parseTokens(file: string, text: string): readonly KnownToken[] {
  const { documents, problems } = parseDocuments(file, text, 'yaml', noVariables);
  const [problem] = problems;
  if (problem !== undefined) throw invalid(formatProblem(problem));
  if (documents.length === 0) throw invalid(`${file}: holds no token`);
  const tokens = new Map<string, KnownToken>();
  for (const document of documents) {
    const fail = (path: readonly PropertyKey[], reason: string): PostriderError => {
      const line = document.lineOf(path);
      return invalid(formatProblem({ file, line, path: formatPath(path), reason }));
    };
    const { data, error } = schema.safeParse(document.value);
    const [issue] = error?.issues ?? [];
    if (issue?.code === 'unrecognized_keys')
      throw fail([issue.keys[0] ?? ''], 'unknown field; allowed: name, role, sha256');
    if (issue?.code === 'invalid_type' && issue.path.length === 0)
      throw fail([], 'each token is a map of name, role and sha256');
    if (issue !== undefined) throw fail(issue.path, issue.message);
    if (data === undefined) continue;
    if (tokens.has(data.name)) throw fail(['name'], `${data.name} is there twice`);
    tokens.set(data.name, data);
  }
  return [...tokens.values()];
}

/** Takes the same time for every token, whoever's it is. */
export function findToken(tokens: readonly KnownToken[], given: string): KnownToken | undefined {
  const hash = sha256(given);
  let found: KnownToken | undefined;
  for (const token of tokens)
    if (timingSafeEqual(Buffer.from(token.sha256, 'hex'), hash)) found = token;
  return found;
}

/**
 * The tokens in the file as it is now; where it becomes wrong, as it was.
 * @throws PostriderError `setting-invalid`
 */
export function followTokens(file: string, log: Logger): Followed<readonly KnownToken[]> {
  const what = 'CONSOLE_TOKENS_FILE';
  return new Followed({ what, read: () => read(file), usedBy: 'new requests', log });
}

function read(file: string): readonly KnownToken[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const sentence = `CONSOLE_TOKENS_FILE names "${file}", which cannot be read`;
    throw new PostriderError('setting-invalid', sentence, { cause });
  }
  return parseTokens(file, text);
}

function invalid(sentence: string): PostriderError {
  return new PostriderError('setting-invalid', sentence);
}

/** Finds the owner of a token, for people who log in with one and for programs that send one along. */
export class Tokens {
  readonly #file: Followed<readonly KnownToken[]>;
  readonly #key: Buffer;
  readonly #log: Logger;
  readonly #guesses: GuessLimit;

  constructor(
    file: Followed<readonly KnownToken[]>,
    { key, clock, log }: { readonly key: Buffer; readonly clock: Clock; readonly log: Logger },
  ) {
    this.#file = file;
    this.#key = keyFor(key, 'token');
    this.#log = log;
    this.#guesses = new GuessLimit(clock);
  }

  /**
   * Undefined: nobody's. A right token is right from any address: behind a proxy, all people may have the same.
   * @throws ProblemError 429 for a wrong token of an address that has guessed too often
   */
  whose(token: string, address: string): KnownToken | undefined {
    const found = findToken(this.#file.current(), token);
    if (found !== undefined) return found;
    if (this.#guesses.isReached(address))
      throw new ProblemError(
        429,
        'Too many wrong tokens came from your address; try again in ten minutes.',
      );
    if (this.#guesses.wasWrong(address, token))
      this.#log.warn({ address }, 'a wrong token was given to the console');
    return undefined;
  }

  /** The mark of a token, which a session that was begun with it remembers. */
  markOf({ name, sha256 }: KnownToken): string {
    return macOf(this.#key, `${name}.${sha256}`);
  }

  /** Undefined: it was taken away, or exchanged. */
  byMark(mark: string): KnownToken | undefined {
    return this.#file.current().find((token) => this.markOf(token) === mark);
  }
}

const mostWrong = 10;
const windowMs = 10 * 60_000;
const mostAddresses = 10_000;

interface Guesses {
  readonly untilMs: number;
  readonly wrong: Set<string>;
}

/**
 * Ten wrong tokens of one address, and for ten minutes no other wrong one of it is answered. The same one again is not
 * counted: it is a program whose token was taken away, and guesses nothing.
 */
class GuessLimit {
  readonly #clock: Clock;
  /** In the order of their ends. */
  readonly #guesses = new Map<string, Guesses>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isReached(address: string): boolean {
    return (this.#of(networkOf(address))?.wrong.size ?? 0) >= mostWrong;
  }

  /** @returns whether it is the first time that this one is wrong */
  wasWrong(address: string, token: string): boolean {
    const network = networkOf(address);
    const guesses = this.#of(network) ?? this.#begin(network);
    const before = guesses.wrong.size;
    guesses.wrong.add(sha256(token).toString('base64'));
    return guesses.wrong.size > before;
  }

  #of(network: string): Guesses | undefined {
    const guesses = this.#guesses.get(network);
    return guesses !== undefined && this.#clock.now() < guesses.untilMs ? guesses : undefined;
  }

  #begin(network: string): Guesses {
    this.#guesses.delete(network);
    const [oldest] = this.#guesses.keys();
    if (oldest !== undefined && this.#guesses.size >= mostAddresses) this.#guesses.delete(oldest);
    const guesses = { untilMs: this.#clock.now() + windowMs, wrong: new Set<string>() };
    this.#guesses.set(network, guesses);
    return guesses;
  }
}
