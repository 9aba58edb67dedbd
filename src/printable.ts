/*
 * What comes from a record, a file or an endpoint may hold what a terminal obeys: control characters, and
 * marks that are not seen or turn the direction of writing. They are shown as `\u001b`, which is also how
 * JSON spells them. Letters of every script stay as they are.
 */

/** One line: a line break in it would begin one that says something else. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}

/** Text that has line breaks of its own; whatever was put into its lines went through `printable` before. */
export function printableLines(text: string): string {
  return text.replaceAll(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}

/** What JSON.stringify leaves as it is although a terminal may obey it. */
export const unescaped: RegExp = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** For programs: the same value, in JSON that no terminal obeys. */
export function printableJson(value: unknown, indent: number = 2): string {
  return asPrintableJson(JSON.stringify(value, null, indent));
}

/** Of a text that is JSON already, as a line of the log. */
export function asPrintableJson(json: string): string {
  return json.replaceAll(unescaped, escaped);
}

/**
 * A line of the log in JSON whose texts hold the escapes themselves, for what shows these texts and not their
 * JSON. Line breaks and tabs stay: stacks have them.
 */
export function asJsonOfPrintable(json: string): string {
  return json
    .replaceAll(/\\(?:(u00[01][\da-f])|([bfr])|.)/g, (found, code?: string, letter?: string) => {
      if (code !== undefined) return `\\\\${code}`;
      return letter === undefined ? found : `\\${found}`;
    })
    .replaceAll(unescaped, (character) => escaped(character).replaceAll('\\', '\\\\'));
}

function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
