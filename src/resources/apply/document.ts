import {
  Composer,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  Parser,
  visit,
  type Document,
  type Node,
} from 'yaml';
import { asError } from '../../errors.ts';
import { formatPath, type Problem } from '../problem.ts';
import { parseResource, type ParsedResource } from '../schema/schema.ts';
import {
  maskReferences,
  misplacedVariables,
  putVariables,
  unmaskReferences,
  type Variables,
  type VariableText,
} from './interpolate.ts';

/** One resource's document as plain data, with the lines of its parts. */
export class SourceDocument {
  readonly file: string;
  readonly value: unknown;
  readonly #lineAt: LineAt;
  readonly #fromVariables: readonly VariableText[];
  #parsed: ParsedResource | undefined;

  constructor(
    file: string,
    value: unknown,
    fromVariables: readonly VariableText[],
    lineAt: LineAt,
  ) {
    this.file = file;
    this.value = value;
    this.#fromVariables = fromVariables;
    this.#lineAt = lineAt;
  }

  /** The document as a resource, or what is wrong with it. */
  get parsed(): ParsedResource {
    return (this.#parsed ??= this.#parse());
  }

  #parse(): ParsedResource {
    const parsed = parseResource(this.value);
    if ('issues' in parsed || this.#fromVariables.length === 0) return parsed;
    const issues = misplacedVariables(parsed.resource, this.#fromVariables);
    return issues.length === 0 ? parsed : { issues };
  }

  /** The line of the field or item at `path`, or of the nearest thing around it. */
  lineOf(path: readonly PropertyKey[]): number {
    return this.#lineAt(path);
  }
}

type LineAt = (path: readonly PropertyKey[]) => number;

export interface ParsedFile {
  readonly documents: readonly SourceDocument[];
  readonly problems: readonly Problem[];
}

/** Nested aliases double with every level. This many are plenty for files that people write. */
const maxAliases = 100;

/**
 * Splits one file into its documents and substitutes environment variables. YAML files may hold several
 * documents, and a document may be a list of resources.
 * @param file the file's name in problems
 * @param syntax `json` is parsed as strictly as `JSON.parse` does; YAML is a superset of it
 */
export function parseDocuments(
  file: string,
  text: string,
  syntax: 'yaml' | 'json',
  variables: Variables,
): ParsedFile {
  const masked = maskReferences(text);
  const lines = new Lines(masked);
  const plain = readPlainJson(masked);
  if (plain !== undefined)
    return splitList(file, plain.value, variables, (path) => lines.at(0, path));
  const jsonProblem = syntax === 'json' ? findJsonProblem(file, masked) : undefined;
  if (jsonProblem !== undefined) return { documents: [], problems: [jsonProblem] };

  const counter = new LineCounter();
  const documents: SourceDocument[] = [];
  const problems: Problem[] = [];
  for (const [index, document] of enumerate(composeDocuments(masked, counter))) {
    const found = problemsOf(document, (offset) => counter.linePos(offset).line);
    for (const problem of found) problems.push({ file, path: '', ...problem });
    if (found.length > 0 || document.contents === null) continue;
    try {
      const value: unknown = document.toJS({ maxAliasCount: maxAliases });
      const split = splitList(file, value, variables, (path) => lines.at(index, path));
      documents.push(...split.documents);
      problems.push(...split.problems);
    } catch (error) {
      const reason =
        error instanceof ReferenceError
          ? `uses aliases more than ${maxAliases} times`
          : `is not valid YAML: ${sentenceOf(error)}`;
      problems.push({ file, line: lines.at(index, []), path: '', reason });
    }
  }
  return { documents, problems };
}

/** One after the other, because a tree takes a hundred times the memory of its text. */
function composeDocuments(masked: string, lines: LineCounter): Generator<Document.Parsed> {
  const composer = new Composer({ stringKeys: true, prettyErrors: false });
  return composer.compose(new Parser(lines.addNewLine).parse(masked));
}

function* enumerate<T>(items: Iterable<T>): Generator<[number, T]> {
  let index = 0;
  for (const item of items) yield [index++, item];
}

/** Finds the lines of a file's parts. The trees are made once somebody asks, which is when a problem is to be told. */
class Lines {
  readonly #masked: string;
  readonly #counter = new LineCounter();
  #documents: readonly Document.Parsed[] | undefined;

  constructor(masked: string) {
    this.#masked = masked;
  }

  at(index: number, path: readonly PropertyKey[]): number {
    this.#documents ??= [...composeDocuments(this.#masked, this.#counter)];
    const document = this.#documents[index];
    return this.#counter.linePos(document === undefined ? 0 : offsetOf(document, path)).line;
  }
}

/** A document that is a list has a resource in each item. */
function splitList(file: string, value: unknown, variables: Variables, lineAt: LineAt): ParsedFile {
  const documents: SourceDocument[] = [];
  const problems: Problem[] = [];
  const add = (masked: unknown, lineOf: LineAt): void => {
    const settled = putVariables(masked, variables);
    if (settled.issues.length === 0)
      documents.push(new SourceDocument(file, settled.value, settled.fromVariables, lineOf));
    for (const { path, reason } of settled.issues)
      problems.push({ file, line: lineOf(path), path: formatPath(path), reason });
  };
  if (Array.isArray(value))
    value.forEach((item: unknown, index) => {
      add(item, (path) => lineAt([index, ...path]));
    });
  else if (value !== null) add(value, lineAt);
  return { documents, problems };
}

type Found = Pick<Problem, 'line' | 'reason'> & { readonly path?: string };

/** Also takes the mask from references in keys, which are left alone. */
function problemsOf(document: Document.Parsed, lineAt: (offset: number) => number): Found[] {
  // The first error causes the ones that follow it.
  const syntax = document.errors[0] ?? document.warnings[0];
  if (syntax !== undefined) {
    return [{ line: lineAt(syntax.pos[0]), reason: `is not valid YAML: ${sentenceOf(syntax)}` }];
  }
  // The library looks through the whole document for each alias.
  const anchored = new Map<string, Node>();
  const found: Found[] = [];
  visit(document, {
    Alias(_key, node, ancestors) {
      const meant = anchored.get(node.source);
      if (meant !== undefined && !ancestors.includes(meant)) return;
      const reason =
        meant === undefined
          ? `*${node.source} has no &${node.source} before it`
          : `*${node.source} refers to a value that contains itself`;
      const line = lineAt(node.range?.[0] ?? 0);
      found.push({ line, path: formatPath(pathTo(node, ancestors)), reason });
    },
    Collection(_key, node) {
      if (node.anchor !== undefined) anchored.set(node.anchor, node);
    },
    Scalar(key, node) {
      if (node.anchor !== undefined) anchored.set(node.anchor, node);
      if (key !== 'key' || typeof node.value !== 'string') return;
      node.value = unmaskReferences(node.value);
      // A key of this name would be lost in plain objects.
      if (node.value === '__proto__')
        found.push({
          line: lineAt(node.range?.[0] ?? 0),
          reason: '__proto__ is not allowed as a key',
        });
    },
  });
  return found;
}

/** V8's own words say nothing of the file. */
function sentenceOf(error: unknown): string {
  const message = asError(error).message;
  if (/call stack/.test(message)) return 'it is nested too deep';
  return unmaskReferences(message).replace(/\s+/g, ' ');
}

function pathTo(node: Node, ancestors: readonly unknown[]): PropertyKey[] {
  return ancestors.flatMap((ancestor, depth): PropertyKey[] => {
    if (isPair(ancestor) && isScalar(ancestor.key)) return [String(ancestor.key.value)];
    if (!isSeq(ancestor) || depth === 1) return [];
    return [ancestor.items.indexOf(ancestors[depth + 1] ?? node)];
  });
}

/** Follows the path as far as it goes; an alias is not followed. */
function offsetOf(document: Document.Parsed, path: readonly PropertyKey[]): number {
  let node: unknown = document.contents;
  let offset = document.contents?.range[0] ?? 0;
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && isNamed(item.key.value, key));
      offset = startOf(pair?.key) ?? offset;
      node = pair?.value;
    } else if (isSeq(node)) {
      node = node.items[Number(key)];
      offset = startOf(node) ?? offset;
    } else break;
  }
  return offset;
}

/** @param masked as it stands in the file */
function isNamed(masked: unknown, key: PropertyKey): boolean {
  return typeof masked === 'string' ? unmaskReferences(masked) === key : masked === key;
}

function startOf(node: unknown): number | undefined {
  return (node as Node | undefined)?.range?.[0];
}

function findJsonProblem(file: string, text: string): Problem | undefined {
  const error = jsonError(text);
  if (error === undefined) return undefined;
  // V8 reports where in most cases, followed by what. The rest of its message may quote a secret.
  const [, what, position] = /^([^"]*?) (?:in|after) JSON at position (\d+)/.exec(error) ?? [];
  const offset = position === undefined ? unexpectedIn(text) : Number(position);
  const line = text.slice(0, offset).split('\n').length;
  const why = what === undefined ? '' : `: ${what.charAt(0).toLowerCase()}${what.slice(1)}`;
  return { file, line, path: '', reason: `is not valid JSON${why}` };
}

function jsonError(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The offset of the first character that V8 does not expect, or of the end if something is missing there. */
function unexpectedIn(text: string): number {
  let fine = 0;
  let wrong = text.length;
  while (fine < wrong) {
    const middle = Math.floor((fine + wrong) / 2);
    const isFound = jsonError(text.slice(0, middle + 1))?.startsWith('Unexpected token') === true;
    if (isFound) wrong = middle;
    else fine = middle + 1;
  }
  return fine;
}

/** A problem at the place of `path` in the document. */
export function problemAt(
  document: SourceDocument,
  path: readonly PropertyKey[],
  reason: string,
): Problem {
  const { file } = document;
  return { file, line: document.lineOf(path), path: formatPath(path), at: path, reason };
}

/**
 * The value of a masked file that is JSON without any mistake. The YAML library, which knows lines, takes twenty times
 * as long: half a minute for the resources of fifty thousand customers.
 * @returns undefined for everything else, which then has to be read in a way that can say what is wrong where
 */
function readPlainJson(masked: string): { readonly value: unknown } | undefined {
  if (!/^\s*[[{]/.test(masked)) return undefined;
  try {
    const value: unknown = JSON.parse(masked);
    return countKeys(value, 0) === keysIn(masked) ? { value } : undefined;
  } catch {
    // Not JSON, or not plain.
    return undefined;
  }
}

/** Deeper than any resource. */
const deepest = 100;

/** Throws for what is not plain. */
function countKeys(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (depth > deepest) throw new NotPlain();
  let keys = 0;
  for (const [key, field] of Object.entries(value)) {
    // A key `__proto__` would be lost in plain objects.
    if (key === '__proto__' || unmaskReferences(key) !== key) throw new NotPlain();
    if (!Array.isArray(value)) keys += 1;
    keys += countKeys(field, depth + 1);
  }
  return keys;
}

class NotPlain extends Error {}

/** `JSON.parse` keeps the last of two equal keys and says nothing; the text has more keys than the value then. */
function keysIn(json: string): number {
  let keys = 0;
  for (const [text] of json.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?/g))
    if (text.endsWith(':')) keys += 1;
  return keys;
}
