import { stringify } from 'yaml';
import { asPrintableJson, unescaped } from './printable.ts';

/** As `printableJson`, in YAML, whose strings in double quotes have JSON's escapes; without a final line break. */
export function printableYaml(value: unknown): string {
  const text = stringify(value).trimEnd();
  if (text.search(unescaped) < 0) return text;
  const quotes = { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'QUOTE_DOUBLE' } as const;
  return asPrintableJson(stringify(value, quotes).trimEnd());
}
