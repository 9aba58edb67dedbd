import { stringify } from 'yaml';
import { asPrintableJson, unescaped } from './printable.ts';

/**
 * Does the work of `printableJson` in YAML, whose strings in double quotes have JSON's escapes. The
 * text has no final line break.
 */
export function printableYaml(value: unknown): string {
  const text = stringify(value).trimEnd();
  if (text.search(unescaped) < 0) return text;
  const quotes = { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'QUOTE_DOUBLE' } as const;
  return asPrintableJson(stringify(value, quotes).trimEnd());
}
