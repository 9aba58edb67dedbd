import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { PostriderError } from '../errors.ts';
import type { Clock } from '../ops/clock.ts';
import { networkOf } from '../ops/connection-limit.ts';
import { Followed } from '../ops/followed.ts';
import type { Logger } from '../ops/log.ts';
import { parseDocuments } from '../resources/apply/document.ts';
import { noVariables } from '../resources/apply/interpolate.ts';
import { formatPath, formatProblem } from '../resources/problem.ts';
import { ProblemError } from './problem.ts';

/** Somebody, or a program, whose token is known by its SHA-256 only. */
export interface KnownToken {
  readonly name: string;
  /** 64 hexadecimal digits, in lower case. */
  readonly sha256: string;
}

const ofNothing = sha256('').toString('hex');

/** The fields that an entry of every file of tokens has. */
export const tokenFields: { readonly name: z.ZodString; readonly sha256: z.ZodType<string> } = {
  name: z.string('must be text').min(1, 'must not be empty').max(100, 'at most 100 characters'),
  sha256: z
    .string('must be text, in quotes')
    .regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of a token, 64 hexadecimal digits')
    .toLowerCase()
    .refine((hash) => hash !== ofNothing, 'is the SHA-256 of an empty text, which is no token'),
};

/** A kind of file of tokens. */
export interface TokensFile<Token extends KnownToken> {
  /** The setting that names the file. */
  readonly setting: string;
  /** The strict schema of an entry. */
  readonly schema: z.ZodType<Token>;
  /** The fields of an entry, in the order in which people are told. */
  readonly fields: readonly string[];
}

/** @throws PostriderError `setting-invalid` with the first thing that is wrong, and its line */
export function parseTokens<Token extends KnownToken>(
  { schema, fields }: Omit<TokensFile<Token>, 'setting'>,
  file: string,
  text: string,
): readonly Token[] {
  const { documents, problems } = parseDocuments(file, text, 'yaml', noVariables);
  const [problem] = problems;
  if (problem !== undefined) throw invalid(formatProblem(problem));
  if (documents.length === 0) throw invalid(`${file}: holds no token`);
  const tokens = new Map<string, Token>();
  for (const document of documents) {
    const fail = (path: readonly PropertyKey[], reason: string): PostriderError => {
      const line = document.lineOf(path);
      return invalid(formatProblem({ file, line, path: formatPath(path), reason }));
    };
    const { data, error } = schema.safeParse(document.value);
    const [issue] = error?.issues ?? [];
    if (issue?.code === 'unrecognized_keys')
      throw fail([issue.keys[0] ?? ''], `unknown field; allowed: ${fields.join(', ')}`);
    if (issue?.code === 'invalid_type' && issue.path.length === 0)
      throw fail([], `each token is a map of ${inWords(fields)}`);
    if (issue !== undefined) throw fail(issue.path, issue.message);
    if (data === undefined) continue;
    if (tokens.has(data.name)) throw fail(['name'], `${data.name} is there twice`);
    tokens.set(data.name, data);
  }
  return [...tokens.values()];
}

/** Takes the same time for every token, whoever's it is. */
export function findToken<Token extends KnownToken>(
  tokens: readonly Token[],
  given: string,
): Token | undefined {
  const hash = sha256(given);
  let found: Token | undefined;
  for (const token of tokens)
    if (timingSafeEqual(Buffer.from(token.sha256, 'hex'), hash)) found = token;
  return found;
}

/**
 * The tokens in the file as it is now; where it becomes wrong, as it was.
 * @throws PostriderError `setting-invalid`
 */
export function followTokens<Token extends KnownToken>(
  kind: TokensFile<Token>,
  file: string,
  log: Logger,
): Followed<readonly Token[]> {
  return new Followed({
    what: kind.setting,
    read: () => read(kind, file),
    usedBy: 'new requests',
    log,
  });
}

function read<Token extends KnownToken>(kind: TokensFile<Token>, file: string): readonly Token[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const sentence = `${kind.setting} names "${file}", which cannot be read`;
    throw new PostriderError('setting-invalid', sentence, { cause });
  }
  return parseTokens(kind, file, text);
}

function inWords(fields: readonly string[]): string {
  return `${fields.slice(0, -1).join(', ')} and ${fields.at(-1) ?? ''}`;
}

function invalid(sentence: string): PostriderError {
  return new PostriderError('setting-invalid', sentence);
}

/** Finds the owner of a token, for people who log in with one and for programs that send one along. */
export class Tokens<Token extends KnownToken> {
  readonly #file: Followed<readonly Token[]>;
  readonly #api: string;
  readonly #log: Logger;
  readonly #guesses: GuessLimit;

  /** @param api as in a sentence, e.g. `the console` */
  constructor(
    file: Followed<readonly Token[]>,
    { api, clock, log }: { readonly api: string; readonly clock: Clock; readonly log: Logger },
  ) {
    this.#file = file;
    this.#api = api;
    this.#log = log;
    this.#guesses = new GuessLimit(clock);
  }

  /**
   * Undefined: nobody's. A right token is right from any address: behind a proxy, all people may have the same.
   * @throws ProblemError 429 for a wrong token of an address that has guessed too often
   */
  whose(token: string, address: string): Token | undefined {
    const found = findToken(this.#file.current(), token);
    if (found !== undefined) return found;
    if (this.#guesses.isReached(address))
      throw new ProblemError(
        429,
        'Too many wrong tokens came from your address; try again in ten minutes.',
      );
    if (this.#guesses.wasWrong(address, token))
      this.#log.warn({ address }, `a wrong token was given to ${this.#api}`);
    return undefined;
  }

  /** Undefined: it was taken away, or exchanged. */
  find(is: (token: Token) => boolean): Token | undefined {
    return this.#file.current().find(is);
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
export class GuessLimit {
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

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Basic is a proxy's business. */
export function bearerToken({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}
