import { z } from 'zod';
import { parseCallPath } from '../../event/call-path.ts';
import { callFields, callTypes, textFields } from '../../event/call.ts';
import { operators, type Filter, type Operator } from '../../event/filter.ts';
import { almost, hintAmong, hintAt } from '../../near.ts';
import type { Issue } from './schema-parts.ts';

/** A destination's filter, or a sentence about each mistake in it. */
export const filter: z.ZodType<Filter> = z.unknown().transform((given, context) => {
  const check = new FilterCheck();
  check.filter(given, [], 1);
  for (const { path, reason } of check.issues)
    context.addIssue({ code: 'custom', path: [...path], message: reason });
  return check.issues.length === 0 ? (structuredClone(given) as Filter) : z.NEVER;
});

const mostConditions = 100;
const mostDepth = 5;
/** Further values make no call dearer, but a resource has to fit into one record. */
const mostValues = 1_000;

type Path = Issue['path'];
type Mapping = Readonly<Record<string, unknown>>;

class FilterCheck {
  readonly issues: Issue[] = [];
  #conditions = 0;

  filter(given: unknown, path: Path, depth: number): void {
    if (!isMapping(given)) {
      this.#refuse(path, 'must be a mapping of paths, such as properties.accountId: acme');
      return;
    }
    if (depth > mostDepth) {
      this.#refuse(path, `must not be deeper than ${mostDepth} filters in one another`);
      return;
    }
    const entries = Object.entries(given);
    if (entries.length === 0)
      this.#refuse(path, 'must not be empty; without this field there is no such restriction');
    for (const [key, value] of entries) {
      if (this.#conditions > mostConditions) return;
      if (key === 'any') this.#any(value, [...path, key], depth);
      else if (key === 'not') this.filter(value, [...path, key], depth + 1);
      else this.#condition(key, value, [...path, key]);
    }
  }

  #any(given: unknown, path: Path, depth: number): void {
    if (!Array.isArray(given) || given.length === 0) {
      this.#refuse(path, 'must be a list of filters, of which one must pass');
      return;
    }
    given.forEach((each: unknown, index) => {
      if (this.#conditions <= mostConditions) this.filter(each, [...path, index], depth + 1);
    });
  }

  #condition(key: string, given: unknown, path: Path): void {
    const parsed = parseCallPath(key);
    const problem = 'problem' in parsed ? parsed.problem : problemOfPath(parsed);
    if (problem !== undefined) {
      this.#refuse(path, problem);
      return;
    }
    if (!isMapping(given)) {
      this.#count(path);
      const reason = Array.isArray(given)
        ? 'must be one value; one of several is { in: […] }'
        : problemOfValue(key, given);
      if (reason !== undefined) this.#refuse(path, reason);
      return;
    }
    const entries = Object.entries(given);
    if (entries.length === 0) this.#refuse(path, `must have an operator: ${operators.join(', ')}`);
    for (const [name, argument] of entries) {
      this.#count([...path, name]);
      if (this.#conditions > mostConditions) return;
      const operator = operators.find((each) => each === name);
      if (operator === undefined) this.#refuse([...path, name], unknownOperator(key, name));
      else this.#operator(key, operator, argument, [...path, name]);
    }
  }

  #operator(key: string, operator: Operator, argument: unknown, path: Path): void {
    const reason = problemOfArgument(operator, argument) ?? problemOnText(key, operator);
    if (reason !== undefined) this.#refuse(path, reason);
    else if (operator === 'in' && Array.isArray(argument))
      argument.forEach((value: unknown, index) => {
        const problem = problemOfValue(key, value);
        if (problem !== undefined) this.#refuse([...path, index], problem);
      });
  }

  #count(path: Path): void {
    this.#conditions += 1;
    if (this.#conditions === mostConditions + 1)
      this.#refuse(path, `is one too many: a filter has at most ${mostConditions} conditions`);
  }

  #refuse(path: Path, reason: string): void {
    this.issues.push({ path, reason });
  }
}

function isMapping(given: unknown): given is Mapping {
  return typeof given === 'object' && given !== null && !Array.isArray(given);
}

/** Why no call can have anything at this path. */
function problemOfPath([first, ...rest]: readonly [string, ...string[]]): string | undefined {
  if (first === 'writeKey') return 'cannot be chosen by: sources says whose calls these are';
  if (rest.length > 0 && textFields.includes(first))
    return `is on no call, because ${first} is text`;
  if (callFields.includes(first)) return undefined;
  const meant = almost(first, callFields);
  return meant === undefined
    ? undefined
    : `is on no call; did you mean ${[meant, ...rest].join('.')}?`;
}

/** Why the value at this path is never equal to this. */
function problemOfValue(key: string, value: unknown): string | undefined {
  const problem = problemOfScalar(value);
  if (problem !== undefined || !textFields.includes(key)) return problem;
  if (value === null) return 'is text on every call; a call without it has { exists: false }';
  if (typeof value !== 'string') return 'is text on every call; put the value in quotes';
  if (key !== 'type' || callTypes.some((type) => type === value)) return undefined;
  return `must be one of ${callTypes.join(', ')}${hintAt(value, callTypes)}`;
}

function problemOfScalar(value: unknown): string | undefined {
  if (typeof value === 'number')
    return Number.isInteger(value) && !Number.isSafeInteger(value)
      ? 'is too large to be compared exactly; send such ids as text, and put it in quotes'
      : problemOfNumber(value);
  const isScalar = typeof value === 'string' || typeof value === 'boolean' || value === null;
  return isScalar ? undefined : 'must be text, a number, true, false or null';
}

function problemOfNumber(value: unknown): string | undefined {
  return Number.isFinite(value) ? undefined : 'must be a number';
}

/** Why the operator never holds for the text that is at this path on every call. */
function problemOnText(key: string, operator: Operator): string | undefined {
  if (!textFields.includes(key)) return undefined;
  if (['in', 'exists', 'prefix', 'suffix'].includes(operator)) return undefined;
  const taken = operator === 'contains' ? 'looks into lists' : 'compares numbers';
  return `${taken}, and ${key} is text on every call`;
}

function problemOfArgument(operator: Operator, argument: unknown): string | undefined {
  switch (operator) {
    case 'in':
      return Array.isArray(argument) && argument.length > 0 && argument.length <= mostValues
        ? undefined
        : `must be a list of 1 to ${mostValues.toLocaleString('en')} values`;
    case 'exists':
      return typeof argument === 'boolean' ? undefined : 'must be true or false';
    case 'prefix':
    case 'suffix':
      return typeof argument === 'string' && argument !== ''
        ? undefined
        : 'must be text, not empty, in quotes if it looks like a number';
    case 'contains':
      return problemOfScalar(argument);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return problemOfNumber(argument);
  }
}

function unknownOperator(key: string, name: string): string {
  const hint = hintAmong(name, operators, 'allowed');
  const isPerhapsField = hintAt(name, operators) === '';
  const field = isPerhapsField ? `; a field inside ${key} is written ${key}.${name}` : '';
  return `is not an operator${hint}${field}`;
}
