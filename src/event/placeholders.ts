import { parseCallPath, valueAt, type CallPath } from './call-path.ts';
import type { Call } from './call.ts';

type Scalar = string | number | boolean | null;

/** `{{path}}` or `{{path|default}}` in a text: a value of the call. */
export interface Placeholder {
  /** The path as it is written. */
  readonly text: string;
  readonly path: CallPath;
  /** Stands for the value of a call that has none, or null, at the path. */
  readonly otherwise: Scalar | undefined;
}

/** A text that was written with placeholders, in its parts; none of the texts is empty. */
export type PlaceholderText = readonly (string | Placeholder)[];

/**
 * Parses a text with placeholders. Spaces around the path and around the default do not count. A default that is a JSON
 * number, text, `true`, `false` or `null` is this value; any other one is the text as it is written.
 * @returns the parts, or what is wrong with the text, as the end of a sentence
 */
export function parsePlaceholders(text: string): PlaceholderText | { readonly problem: string } {
  const parts: (string | Placeholder)[] = [];
  let from = 0;
  for (let open = text.indexOf('{{'); open >= 0; open = text.indexOf('{{', from)) {
    const close = text.indexOf('}}', open);
    if (close < 0) return { problem: 'has {{ without }}' };
    const placeholder = parsePlaceholder(text.slice(open + 2, close));
    if ('problem' in placeholder) return placeholder;
    if (open > from) parts.push(text.slice(from, open));
    parts.push(placeholder);
    from = close + 2;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

/** The placeholders of a text, in their order. */
export function placeholdersOf(text: PlaceholderText): readonly Placeholder[] {
  return text.filter((part) => typeof part !== 'string');
}

/** The value that stands for the placeholder; undefined where the call has none and there is no default. */
export function valueFor({ path, otherwise }: Placeholder, call: Call): unknown {
  const value = valueAt(call, path);
  return value === undefined || (value === null && otherwise !== undefined) ? otherwise : value;
}

/**
 * The text that stands for the placeholder inside another text: what is no text itself is written as JSON. Null is
 * nothing, like a value that is not there.
 */
export function textFor(placeholder: Placeholder, call: Call): string {
  const value = valueFor(placeholder, call) ?? '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function parsePlaceholder(content: string): Placeholder | { readonly problem: string } {
  const bar = content.indexOf('|');
  const text = (bar < 0 ? content : content.slice(0, bar)).trim();
  const shown = `{{${content.trim()}}}`;
  const path = parseCallPath(text);
  if ('problem' in path)
    return {
      problem:
        text === '' ? `has ${shown} without a path` : `has ${shown}, whose path ${path.problem}`,
    };
  return {
    text,
    path,
    otherwise: bar < 0 ? undefined : parseDefault(content.slice(bar + 1).trim()),
  };
}

const scalar = /^(?:"|-?\d|(?:true|false|null)$)/;

function parseDefault(text: string): Scalar {
  if (!scalar.test(text)) return text;
  try {
    return JSON.parse(text) as Scalar;
  } catch {
    // A text such as 01234 or "x" y.
    return text;
  }
}
