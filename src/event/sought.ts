/*
 * Ids that somebody looks for. The id of a call or of a user may have half an emoji, which neither a URL nor a terminal
 * nor UTF-8 can hold: it is printed as `\ud83d`, and in keys, in the console's index and in URLs it is U+FFFD.
 */

const half = '\ufffd';
const printedHalf = /\\u(d[89a-f][\da-f]{2})/gi;

/** The id as a URL, a key and UTF-8 can have it. */
export function writable(id: string): string {
  return id.replaceAll(printedHalf, half).toWellFormed();
}

/** Tells whether an id is the one that is sought. Half an emoji counts as any other. */
export function isSought(sought: string): (id: unknown) => boolean {
  const wanted = writable(sought);
  if (!wanted.includes(half)) return (id) => id === sought;
  return (id) => typeof id === 'string' && writable(id) === wanted;
}

/** The id that was printed, as its call has it. */
export function asGiven(printed: string): string {
  return printed.replaceAll(printedHalf, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}
