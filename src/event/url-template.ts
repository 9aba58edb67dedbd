import { parseCallPath, valueAt } from './call-path.ts';
import type { Call } from './call.ts';
import { isIdTooLong } from './limits.ts';
import {
  parsePlaceholders,
  placeholdersOf,
  type Placeholder,
  type PlaceholderText,
} from './placeholders.ts';

/** A URL with placeholders in its path or query. */
export interface UrlTemplate {
  /** The path and query, as `URL` has them apart from the placeholders. */
  readonly target: PlaceholderText;
}

/**
 * The values that an event's URLs have at their placeholders, by path: as the call had them when it was routed. Null:
 * the call had none that can stand in a URL.
 */
export type UrlValues = Readonly<Record<string, string | null>>;

export const noUrlValues: UrlValues = Object.freeze({});

/** A path that a URL has a value of. */
export type UrlPath = Pick<Placeholder, 'text' | 'path'>;

export function hasPlaceholders(url: string): boolean {
  return url.includes('{{');
}

/**
 * Parses a URL that may have placeholders.
 * @returns the template, or what is wrong with the URL, as the end of a sentence
 */
export function parseUrlTemplate(url: string): UrlTemplate | { readonly problem: string } {
  const [, origin = url, written = ''] = /^([^:]*:[/\\]{2}[^/\\?#]*)(.*)$/s.exec(url) ?? [];
  if (hasPlaceholders(origin))
    return { problem: 'must not have a placeholder in its scheme, host or port' };
  const parts = parsePlaceholders(written);
  if ('problem' in parts) return parts;
  const withoutValue = placeholdersOf(parts).find(
    ({ otherwise }) => otherwise !== undefined && urlText(otherwise) === undefined,
  );
  if (withoutValue !== undefined)
    return { problem: `has {{${withoutValue.text}|…}}, whose default cannot stand in a URL` };
  // `URL` would take the placeholders for characters to encode.
  const mark = markNotIn(url);
  const marked = parts.map((part) => (typeof part === 'string' ? part : mark)).join('');
  if (!URL.canParse(origin + marked))
    return { problem: 'must be a URL with a valid host and port' };
  const { pathname, search } = new URL(origin + marked);
  const fixed = (pathname + search).split(mark);
  const placeholders = placeholdersOf(parts);
  if (fixed.length !== placeholders.length + 1)
    return { problem: 'must not have .. behind a placeholder' };
  return {
    target: fixed
      .flatMap((text, index) => [text, placeholders[index] ?? ''])
      .filter((part) => part !== ''),
  };
}

/** @param text a path that the schema has checked */
export function urlPathOf(text: string): UrlPath {
  const path = parseCallPath(text);
  if ('problem' in path) throw new Error(`the path ${text} ${path.problem}`);
  return { text, path };
}

/** The values of a call at these paths, to travel with its event. */
export function urlValuesOf(paths: readonly UrlPath[], call: Call): UrlValues {
  return Object.fromEntries(
    paths.map(({ text, path }) => [text, urlText(valueAt(call, path)) ?? null]),
  );
}

/**
 * The path and query with the values in their places, percent-encoded, so that none of them can change the rest.
 * @returns the path of a value that is missing, where there is no default for it
 */
export function fillTarget(
  { target }: UrlTemplate,
  values: UrlValues,
): string | { readonly missing: string } {
  let filled = '';
  for (const part of target) {
    if (typeof part === 'string') {
      filled += part;
      continue;
    }
    const { text, otherwise } = part;
    const value = (Object.hasOwn(values, text) ? values[text] : undefined) ?? urlText(otherwise);
    if (value === undefined) return { missing: text };
    // A half of a pair cannot be encoded.
    filled += encodeURIComponent(value.toWellFormed());
  }
  return filled;
}

/** The path as it is written, without the query. */
export function shownPath({ target }: UrlTemplate): string {
  let shown = '';
  for (const part of target) {
    const isText = typeof part === 'string';
    const [path = '', query] = isText ? part.split('?') : [`{{${part.text}}}`];
    shown += path;
    if (query !== undefined) break;
  }
  return shown;
}

/**
 * The text of a value that can stand in a URL: a text, a number, true or false. Nothing, and dots alone, would make another
 * path of what is around them.
 */
function urlText(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) return undefined;
  return isIdTooLong(value) ? undefined : value;
}

function markNotIn(url: string): string {
  let mark = 'placeholder';
  while (url.includes(mark)) mark += 'x';
  return mark;
}
