import { z } from 'zod';
import { hintAmong, hintAt, nearest } from '../../near.ts';
import { formatPath } from '../problem.ts';

/** Parts that the schemas of several kinds of resources share. */

/**
 * The text that `get` prints in a secret's place. It is refused as a value, so that the output
 * cannot be applied by mistake.
 */
export const secretMask = '(set, not shown)';

const idRule = 'must be 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen';
export const id: z.ZodString = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, idRule);
export const name: z.ZodString = z
  .string()
  .regex(/^(?=.*\S)\P{Cc}{1,200}$/u, 'must be 1 to 200 characters without control characters');
export const secret: z.ZodString = z.string().refine((value) => value !== secretMask, {
  error: 'is what `get` prints instead of a secret; give the secret itself, e.g. as ${NAME}',
});

type Refine = (value: string, context: { addIssue(message: string): void }) => void;

export function refuse(problemOf: (value: string) => string | undefined): Refine {
  return (value, context) => {
    const problem = problemOf(value);
    if (problem !== undefined) context.addIssue(problem);
  };
}

export function distinct<Item extends z.ZodType<string | number>>(item: Item): z.ZodArray<Item> {
  return z.array(item).superRefine((values, context) => {
    const seen = new Set<unknown>();
    values.forEach((value, index) => {
      if (seen.has(value))
        context.addIssue({ code: 'custom', path: [index], message: 'is named twice' });
      seen.add(value);
    });
  });
}

export function notEmpty<Item extends z.ZodType<string>>(list: z.ZodArray<Item>): z.ZodArray<Item> {
  return list.min(1, 'must not be empty; without this field there is no such restriction');
}

export const missing = 'is missing';

/** Zod's issue as the end of a sentence that starts with the field's name; never with its value. */
export function reasonOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'invalid_type' && issue.code !== 'invalid_value') return undefined;
  if (issue.input === undefined) return missing;
  return issue.code === 'invalid_value'
    ? oneOf(issue.values.map(String), issue.input)
    : `must be ${typeNames[issue.expected] ?? issue.expected}${quotesHint(issue)}`;
}

function oneOf(allowed: readonly string[], given: unknown): string {
  const hint = typeof given === 'string' ? hintAt(given, allowed) : '';
  return `must be one of ${allowed.join(', ')}${hint}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  int: 'a whole number from 1 on',
  number: 'a whole number from 1 on',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

function quotesHint(issue: { readonly expected: string; readonly input?: unknown }): string {
  const scalar = typeof issue.input === 'number' || typeof issue.input === 'boolean';
  return issue.expected === 'string' && scalar ? '; put it in quotes' : '';
}

/** Something wrong at one place of a document. */
export interface Issue {
  readonly path: readonly PropertyKey[];
  readonly reason: string;
}

/** A guess at what was meant compares the name with all that there are, and who wrote so many meant none of them. */
const mostGuesses = 50;

/**
 * Zod's issues, one for each unknown field. If a field is misspelt, the missing right name is not reported as
 * a second issue.
 * @param fieldsAt which fields are allowed at this path
 */
export function issuesOf(
  issues: readonly z.core.$ZodIssue[],
  fieldsAt: (path: readonly PropertyKey[]) => readonly string[],
): Issue[] {
  const misspelt = new Set<string>();
  let guesses = 0;
  const unknown = issues.flatMap((issue): Issue[] => {
    if (issue.code !== 'unrecognized_keys') return [];
    const allowed = fieldsAt(issue.path);
    return issue.keys.map((key) => {
      guesses += 1;
      if (guesses > mostGuesses)
        return { path: [...issue.path, key], reason: 'is not a known field' };
      const meant = nearest(key, allowed);
      if (meant !== undefined) misspelt.add(formatPath([...issue.path, meant]));
      const reason = `is not a known field${hintAmong(key, allowed, 'allowed')}`;
      return { path: [...issue.path, key], reason };
    });
  });
  const others = issues
    .filter(({ code }) => code !== 'unrecognized_keys')
    .filter(({ path, message }) => message !== missing || !misspelt.has(formatPath(path)))
    .map(({ path, message }) => ({ path, reason: message }));
  return [...others, ...unknown];
}
