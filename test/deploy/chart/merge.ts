import { isDeepStrictEqual } from 'node:util';

/**
 * Finds what decides about each field of a manifest: from the same manifest with different components, a tree whose
 * nodes say with which of them they are there.
 */

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** What kustomize makes with some components; undefined: the value is not there. */
export interface Variant<T = Json | undefined> {
  readonly components: ReadonlySet<string>;
  readonly value: T;
}

/** A Go template's condition; undefined: always. */
export type Condition = string | undefined;

/** One of the values that a place has, by its condition. */
export interface Choice {
  readonly when: Condition;
  readonly node: Node;
}

export type Node =
  | { readonly scalar: Json }
  | { readonly fields: readonly (readonly [name: string, choices: readonly Choice[]])[] }
  | { readonly items: readonly (readonly Choice[])[] };

/** @throws Error for a difference that no one or two components explain */
export function merge(variants: readonly Variant[], path: string): Choice[] {
  const present = variants.filter(({ value }) => value !== undefined) as Variant<Json>[];
  const [first] = present;
  if (first === undefined) return [];
  const isSame = present.every(({ value }) => isDeepStrictEqual(value, first.value));
  const when = conditionOf(variants, present, path);
  if (isSame && !isNested(first.value)) return [{ when, node: { scalar: first.value } }];
  if (present.every(({ value }) => isFields(value)))
    return [{ when, node: { fields: fieldsOf(present, path) } }];
  if (present.every(({ value }) => isKeyed(value)))
    return [{ when, node: { items: itemsOf(present, path) } }];
  return choicesOf(variants, present, path);
}

function fieldsOf(variants: readonly Variant<Json>[], path: string): [string, Choice[]][] {
  const valueIn = (value: Json, name: string): Json | undefined =>
    Object.hasOwn(value as object, name) ? (value as Record<string, Json>)[name] : undefined;
  const names = new Set(variants.flatMap(({ value }) => Object.keys(value as object)));
  return [...names].map((name) => [
    name,
    merge(
      variants.map(({ components, value }) => ({ components, value: valueIn(value, name) })),
      `${path}.${name}`,
    ),
  ]);
}

function itemsOf(variants: readonly Variant<Json>[], path: string): Choice[][] {
  // The longest list has most of the others' items, in their order.
  const lists = variants.map(({ value }) => value as Json[]);
  lists.sort((one, other) => other.length - one.length);
  const keys = new Set(lists.flatMap((list) => list.map(keyOf)));
  return [...keys].map((key) =>
    merge(
      variants.map(({ components, value }) => ({
        components,
        value: (value as Json[]).find((item) => keyOf(item) === key),
      })),
      `${path}[${String(key)}]`,
    ),
  );
}

/** Values that have nothing in common: each where its components are. */
function choicesOf(
  variants: readonly Variant[],
  present: readonly Variant<Json>[],
  path: string,
): Choice[] {
  const groups: Variant<Json>[][] = [];
  for (const variant of present) {
    const group = groups.find(([one]) => isDeepStrictEqual(one?.value, variant.value));
    if (group === undefined) groups.push([variant]);
    else group.push(variant);
  }
  return groups.map((group) => ({
    when: conditionOf(variants, group, path),
    node: { scalar: group[0]?.value ?? null },
  }));
}

function isNested(value: Json): boolean {
  return isFields(value) || isKeyed(value);
}

function isFields(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A list whose items have names of their own, which patches may add to. */
function isKeyed(value: Json): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  const keys = (value as Json[]).map(keyOf);
  return keys.every((key) => key !== undefined) && new Set(keys).size === keys.length;
}

function keyOf(item: Json): string | undefined {
  if (!isFields(item)) return undefined;
  const { name, mountPath } = item as Record<string, unknown>;
  return JSON.stringify([name, mountPath].filter((each) => each !== undefined));
}

interface Literal {
  readonly text: string;
  readonly holds: (components: ReadonlySet<string>) => boolean;
}

function conditionOf(
  all: readonly Variant<unknown>[],
  some: readonly Variant<unknown>[],
  path: string,
): Condition {
  if (some.length === all.length) return undefined;
  const wanted = new Set(some.map(({ components }) => components));
  const fits = ({ holds }: Literal): boolean =>
    all.every(({ components }) => holds(components) === wanted.has(components));
  const names = new Set(all.flatMap(({ components }) => [...components]));
  const literals = [...names].flatMap(literalsOf);
  const found =
    literals.find(fits) ??
    literals.flatMap((one) => literals.flatMap((other) => pairsOf(one, other))).find(fits);
  if (found === undefined) throw new Error(`no one or two components decide about ${path}`);
  return found.text;
}

function literalsOf(name: string): Literal[] {
  const text = `.Values.components.${camelCase(name)}`;
  return [
    { text, holds: (components) => components.has(name) },
    { text: `not ${text}`, holds: (components) => !components.has(name) },
  ];
}

function pairsOf(one: Literal, other: Literal): Literal[] {
  const both = `(${one.text}) (${other.text})`;
  return [
    { text: `and ${both}`, holds: (some) => one.holds(some) && other.holds(some) },
    { text: `or ${both}`, holds: (some) => one.holds(some) || other.holds(some) },
  ];
}

export function camelCase(name: string): string {
  return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The lines of a node in a template. Text in JSON is YAML too. */
export function templateLines(choices: readonly Choice[], head: string, indent: string): string[] {
  return choices.flatMap(({ when, node }) => {
    const lines = nodeLines(node, head, indent);
    return when === undefined ? lines : [`{{- if ${when} }}`, ...lines, '{{- end }}'];
  });
}

/** @param head what stands before the value on its line: `name:` or `-` */
function nodeLines(node: Node, head: string, indent: string): string[] {
  if ('scalar' in node) return [`${indent}${head} ${escaped(JSON.stringify(node.scalar))}`];
  if ('items' in node)
    return [
      `${indent}${head}`,
      ...node.items.flatMap((choices) => templateLines(choices, '-', `${indent}  `)),
    ];
  if (node.fields.length === 0) return [`${indent}${head} {}`];
  return [
    `${indent}${head}`,
    ...node.fields.flatMap(([name, choices]) =>
      templateLines(choices, `${escaped(JSON.stringify(name))}:`, `${indent}  `),
    ),
  ];
}

/** What alerts write for Prometheus' own templates is no template of Helm's. */
function escaped(text: string): string {
  return text.replaceAll('{{', '{{ "{{" }}');
}
