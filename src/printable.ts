/*
 * Escapes text from records, files and endpoints that could control a terminal: control characters, and
 * invisible marks that change the direction of text. They are shown as `\u001b`, as in JSON. Letters of every
 * script stay as they are.
 */

/** For one line: an unescaped line break could fake another line. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}

/** For text with its own line breaks. The parts of its lines went through `printable` before. */
export function printableLines(text: string): string {
  return text.replaceAll(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}

/** Characters that JSON.stringify does not escape although they may control a terminal. */
export const unescaped: RegExp = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** For programs: the same value, in JSON without characters that control a terminal. */
export function printableJson(value: unknown, indent: number = 2): string {
  return asPrintableJson(JSON.stringify(value, null, indent));
}

/** The same for a text that is JSON already, as a line of the log. */
export function asPrintableJson(json: string): string {
  return json.replaceAll(unescaped, escaped);
}

/**
 * A line of the log in JSON whose texts contain the escapes themselves, for tools that show these texts. Line
 * breaks and tabs stay, because stacks have them.
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

/** `1 call`, `2 calls`. `noun`: its singular, with a regular plural. */
export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

/** The number of things that a sentence names. */
const mostNamed = 20;

/** The first ones, and how many more there are. */
export function enumerated(texts: readonly string[]): string {
  return enumeratedBy(texts, (text) => text, ', ');
}

/** The same of anything, of which only the first ones are put into words. */
export function enumeratedBy<T>(
  all: readonly T[],
  inWords: (one: T) => string,
  separator: string,
): string {
  const named = all.slice(0, mostNamed).map(inWords).join(separator);
  const more = all.length - mostNamed;
  return more > 0 ? `${named} and ${more} more` : named;
}
