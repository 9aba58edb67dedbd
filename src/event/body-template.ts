import type { Call } from './call.ts';
import {
  parsePlaceholders,
  textFor,
  valueFor,
  type Placeholder,
  type PlaceholderText,
} from './placeholders.ts';
import { quote } from './read-json.ts';

/** JSON whose texts may have placeholders. */
export type Template =
  string | number | boolean | null | readonly Template[] | { readonly [key: string]: Template };

/** A template made ready for many calls. */
export type CompiledTemplate =
  | { readonly kind: 'fixed'; readonly json: string }
  | { readonly kind: 'value'; readonly placeholder: Placeholder }
  | { readonly kind: 'text'; readonly parts: PlaceholderText }
  | { readonly kind: 'list'; readonly items: readonly CompiledTemplate[] }
  | { readonly kind: 'mapping'; readonly entries: readonly Entry[] };

interface Entry {
  /** The key as JSON, with its colon. */
  readonly key: string;
  readonly value: CompiledTemplate;
}

/** @param template one that the schema has checked */
export function compileTemplate(template: Template): CompiledTemplate {
  if (typeof template === 'string') return compileText(template);
  if (Array.isArray(template)) {
    const items = (template as readonly Template[]).map(compileTemplate);
    return items.every(isFixed) ? fixed(template) : { kind: 'list', items };
  }
  if (typeof template !== 'object' || template === null) return fixed(template);
  const entries = Object.entries(template).map(([key, value]): Entry => ({
    key: `${quote(key)}:`,
    value: compileTemplate(value),
  }));
  return entries.every(({ value }) => isFixed(value))
    ? fixed(template)
    : { kind: 'mapping', entries };
}

/**
 * The template's JSON for a call, as `JSON.stringify` writes it. A placeholder that stands alone is the value with its
 * own type. One without a value leaves its key or item out.
 * @returns undefined where the template is only such a placeholder
 */
export function fillTemplate(template: CompiledTemplate, call: Call): string | undefined {
  switch (template.kind) {
    case 'fixed':
      return template.json;
    case 'value': {
      const value = valueFor(template.placeholder, call);
      return typeof value === 'string' ? quote(value) : JSON.stringify(value);
    }
    case 'text':
      return quote(fillText(template.parts, call));
    case 'list':
      return `[${joined(template.items, call)}]`;
    case 'mapping':
      return `{${joinedEntries(template.entries, call)}}`;
  }
}

function compileText(text: string): CompiledTemplate {
  const parts = parsePlaceholders(text);
  if ('problem' in parts) throw new Error(`the text ${text} ${parts.problem}`);
  const [first, ...others] = parts;
  if (first === undefined || (typeof first === 'string' && others.length === 0)) return fixed(text);
  return typeof first === 'object' && others.length === 0
    ? { kind: 'value', placeholder: first }
    : { kind: 'text', parts };
}

function fixed(template: Template): CompiledTemplate {
  return { kind: 'fixed', json: JSON.stringify(template) };
}

function isFixed({ kind }: CompiledTemplate): boolean {
  return kind === 'fixed';
}

function fillText(parts: PlaceholderText, call: Call): string {
  let text = '';
  for (const part of parts) text += typeof part === 'string' ? part : textFor(part, call);
  return text;
}

function joined(items: readonly CompiledTemplate[], call: Call): string {
  let json = '';
  for (const item of items) {
    const filled = fillTemplate(item, call);
    if (filled !== undefined) json += json === '' ? filled : `,${filled}`;
  }
  return json;
}

function joinedEntries(entries: readonly Entry[], call: Call): string {
  let json = '';
  for (const { key, value } of entries) {
    const filled = fillTemplate(value, call);
    if (filled !== undefined) json += json === '' ? key + filled : `,${key}${filled}`;
  }
  return json;
}
