import type { Call } from './call.ts';

/** The keys from a call down to one of its values; never empty. */
export type CallPath = readonly [string, ...string[]];

/** The depth and length of a path that somebody writes by hand are far below these. */
const deepest = 20;
const longest = 1_000;

/**
 * Parses a path such as `properties.accountId`: keys with dots between them, and `\.` for a dot that is part of a
 * key, `\\` for a backslash.
 * @returns the path, or what is wrong with the text, as the end of a sentence
 */
export function parseCallPath(text: string): CallPath | { readonly problem: string } {
  if (text.length > longest) return { problem: `must have at most ${longest} characters` };
  const keys = [''];
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '.') keys.push('');
    else if (character !== '\\') keys.push(`${keys.pop() ?? ''}${character}`);
    else {
      at += 1;
      const escaped = text.charAt(at);
      if (escaped !== '.' && escaped !== '\\')
        return { problem: 'has a backslash before something other than a dot or a backslash' };
      keys.push(`${keys.pop() ?? ''}${escaped}`);
    }
  }
  const [first, ...rest] = keys;
  if (first === undefined || keys.includes(''))
    return { problem: 'has an empty key; a dot in a key is written \\.' };
  if (keys.length > deepest) return { problem: `must have at most ${deepest} keys` };
  return [first, ...rest];
}

/** Writes the text that `parseCallPath` reads as this path. */
export function callPathText(path: CallPath): string {
  return path.map((key) => key.replaceAll(/[\\.]/g, '\\$&')).join('.');
}

/**
 * The value at a path of a call as it is routed: with its resolved ids and time, without its write key. Keys are
 * looked up in objects alone and must be their own, so neither `__proto__` nor the length of a list is found.
 * @returns undefined if the path does not exist
 */
export function valueAt(call: Call, path: CallPath): unknown {
  let value = rootValue(call, path[0]);
  for (let depth = 1; depth < path.length; depth += 1) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const key = path[depth] ?? '';
    value = Object.hasOwn(value, key)
      ? (value as Readonly<Record<string, unknown>>)[key]
      : undefined;
  }
  return value;
}

function rootValue(call: Call, key: string): unknown {
  switch (key) {
    case 'type':
    case 'messageId':
    case 'userId':
    case 'anonymousId':
    case 'timestamp':
      return call[key];
    case 'writeKey':
      return undefined;
    default:
      return Object.hasOwn(call.fields, key) ? call.fields[key] : undefined;
  }
}
