import { parseCallPath, valueAt, type CallPath } from './call-path.ts';
import type { Call } from './call.ts';
import { shortened } from './last-answer.ts';

/** A value that a condition can name. It is equal to itself only: no text is a number. */
export type Scalar = string | number | boolean | null;

/** Conditions on the value at one path, which must all hold. None but `exists` holds for a path that is not there. */
export interface Operators {
  readonly in?: readonly Scalar[];
  /** A null exists. */
  readonly exists?: boolean;
  readonly prefix?: string;
  readonly suffix?: string;
  /** Holds for a list that has this element. */
  readonly contains?: Scalar;
  readonly gt?: number;
  readonly gte?: number;
  readonly lt?: number;
  readonly lte?: number;
}

/**
 * The calls that a destination wants, as its file has it: conditions by path, which must all hold. The key `any` has
 * filters of which one must pass, and `not` one that must not.
 */
export interface Filter {
  readonly [path: string]: Scalar | Operators | Filter | readonly Filter[];
}

/** The first condition of a filter that does not hold for a call. */
export interface Unmet {
  /** The part of the filter, under its one key. */
  readonly condition: Filter;
  /** The call's values at all paths of the condition; a path that the call does not have is missing. */
  readonly values: Readonly<Record<string, unknown>>;
}

interface Condition {
  readonly written: Filter;
  readonly holds: (call: Call) => boolean;
}

/** A valid filter, made ready for many calls. */
export type CompiledFilter = readonly Condition[];

export function compileFilter(filter: Filter): CompiledFilter {
  return partsOf(filter).map((part): Condition => {
    switch (part.kind) {
      case 'any': {
        const filters = part.filters.map(compileFilter);
        const holds = (call: Call): boolean => filters.some((each) => passes(each, call));
        return { written: { any: part.filters }, holds };
      }
      case 'not': {
        const inner = compileFilter(part.filter);
        return { written: { not: part.filter }, holds: (call) => !passes(inner, call) };
      }
      case 'path': {
        const { path, wanted } = part;
        const tests = testsOf(wanted);
        const holds = (call: Call): boolean => {
          const value = valueAt(call, path);
          return tests.every((test) => test(value));
        };
        return { written: { [part.text]: wanted }, holds };
      }
    }
  });
}

export function passes(filter: CompiledFilter, call: Call): boolean {
  return filter.every(({ holds }) => holds(call));
}

/** Undefined: the call passes the filter. */
export function firstUnmet(filter: CompiledFilter, call: Call): Unmet | undefined {
  const unmet = filter.find(({ holds }) => !holds(call));
  if (unmet === undefined) return undefined;
  const met = pathsOf(unmet.written)
    .map(({ text, path }) => [text, valueAt(call, path)] as const)
    .filter(([, value]) => value !== undefined);
  return { condition: unmet.written, values: Object.fromEntries(met) };
}

/** A path, and the values of which a call must have one there to pass the filter. */
export interface Lookup {
  readonly text: string;
  readonly path: CallPath;
  /** Distinct. */
  readonly values: ReadonlySet<Scalar>;
}

/** The conditions of a filter by which calls can be looked up. Each must hold, whatever else is in the filter. */
export function lookupsOf(filter: Filter): readonly Lookup[] {
  return partsOf(filter).flatMap((part): Lookup[] => {
    if (part.kind !== 'path') return [];
    const { text, path, wanted } = part;
    if (!isOperators(wanted)) return [{ text, path, values: new Set([wanted]) }];
    return wanted.in === undefined ? [] : [{ text, path, values: new Set(wanted.in) }];
  });
}

const mostShown = 200;

/** A sentence for people: `its filter wants properties.total: {"gte":100}; properties.total is 40`. */
export function tellUnmet({ condition, values }: Unmet): string {
  const wanted = Object.entries(condition).map(([key, value]) => `${key}: ${jsonOf(value)}`);
  const met = pathsOf(condition).map(({ text }) =>
    Object.hasOwn(values, text) ? `${text} is ${jsonOf(values[text])}` : `${text} is missing`,
  );
  return shortened(
    `its filter wants ${wanted.join()}; ${[...new Set(met)].join(', ')}`,
    3 * mostShown,
  );
}

function jsonOf(value: unknown): string {
  return shortened(JSON.stringify(value), mostShown);
}

type Part =
  | { readonly kind: 'any'; readonly filters: readonly Filter[] }
  | { readonly kind: 'not'; readonly filter: Filter }
  | {
      readonly kind: 'path';
      readonly text: string;
      readonly path: CallPath;
      readonly wanted: Scalar | Operators;
    };

/** The types say what the schema has checked. */
function partsOf(filter: Filter): readonly Part[] {
  return Object.entries(filter).map(([key, value]): Part => {
    if (key === 'any') return { kind: 'any', filters: value as readonly Filter[] };
    if (key === 'not') return { kind: 'not', filter: value as Filter };
    const path = parseCallPath(key);
    if ('problem' in path) throw new Error(`the path ${key} ${path.problem}`);
    return { kind: 'path', text: key, path, wanted: value as Scalar | Operators };
  });
}

function pathsOf(filter: Filter): readonly { readonly text: string; readonly path: CallPath }[] {
  return partsOf(filter).flatMap((part) => {
    if (part.kind === 'path') return [part];
    return part.kind === 'not' ? pathsOf(part.filter) : part.filters.flatMap(pathsOf);
  });
}

function isOperators(wanted: Scalar | Operators): wanted is Operators {
  return typeof wanted === 'object' && wanted !== null;
}

type Test = (value: unknown) => boolean;

const testOf: {
  readonly [Name in keyof Operators]-?: (argument: Required<Operators>[Name]) => Test;
} = {
  in: (values) => {
    const among = new Set<unknown>(values);
    return (value) => among.has(value);
  },
  exists: (wanted) => (value) => (value !== undefined) === wanted,
  prefix: (prefix) => ofText((text) => text.startsWith(prefix)),
  suffix: (suffix) => ofText((text) => text.endsWith(suffix)),
  contains: (element) => (value) => Array.isArray(value) && value.includes(element),
  gt: (bound) => ofNumber((number) => number > bound),
  gte: (bound) => ofNumber((number) => number >= bound),
  lt: (bound) => ofNumber((number) => number < bound),
  lte: (bound) => ofNumber((number) => number <= bound),
};

export type Operator = keyof Operators;
export const operators: readonly Operator[] = Object.keys(testOf) as Operator[];

function ofText(test: (text: string) => boolean): Test {
  return (value) => typeof value === 'string' && test(value);
}

function ofNumber(test: (number: number) => boolean): Test {
  return (value) => typeof value === 'number' && test(value);
}

function testsOf(wanted: Scalar | Operators): readonly Test[] {
  if (!isOperators(wanted)) return [(value) => value === wanted];
  return Object.entries(wanted).map(([operator, argument]) => {
    const create = testOf[operator as Operator] as (argument: unknown) => Test;
    return create(argument);
  });
}
