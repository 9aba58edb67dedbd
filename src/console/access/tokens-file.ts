import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { PostriderError } from '../../errors.ts';
import { Followed } from '../../ops/followed.ts';
import type { Logger } from '../../ops/log.ts';
import { noVariables } from '../../resources/apply/interpolate.ts';
import { parseDocuments } from '../../resources/apply/document.ts';
import { formatPath, formatProblem } from '../../resources/problem.ts';
import { sha256 } from './signed.ts';

/** Somebody, or a program, whose token is known by its SHA-256 only. */
export interface KnownToken {
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
