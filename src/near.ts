import { distance } from 'fastest-levenshtein';

/**
 * The name that was almost certainly meant: `given` differs from it in case, hyphens or number, or in one
 * letter in five, three at most. For names that may also be correct.
 */
export function almost(given: string, names: Iterable<string>): string | undefined {
  return closest(given, names, (letters) => Math.floor(letters / 5));
}

/**
 * The name that was probably meant by the unknown `given`: besides almost equal ones, a name that shares at
 * least half of the words of both, or one with one letter in three wrong.
 */
export function nearest(given: string, names: Iterable<string>): string | undefined {
  const all = [...names];
  return (
    almost(given, all) ??
    sharingWords(given, all) ??
    closest(given, all, (letters) => Math.floor(letters / 3))
  );
}

/** `; did you mean webhooks?`, or nothing if no name is similar. To be appended to a sentence. */
export function hintAt(given: string, names: Iterable<string>): string {
  const meant = nearest(given, names);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** The end of a sentence about an unknown name: `; did you mean shop? Known are: crm, shop`. */
export function hintAmong(given: string, names: readonly string[], lead: string): string {
  const hint = hintAt(given, names);
  const spelled =
    hint === '' ? `; ${lead}` : `${hint} ${lead.charAt(0).toUpperCase()}${lead.slice(1)}`;
  const more = names.length - mostNamed;
  const named = more > 0 ? [...names.slice(0, mostNamed), `and ${more} more`] : names;
  return `${spelled}: ${named.join(', ')}`;
}

/** More than there are reasons or fields. A deployment may have thousands of destinations. */
const mostNamed = 50;
const mostSlips = 3;

function closest(
  given: string,
  names: Iterable<string>,
  slipsAllowed: (letters: number) => number,
): string | undefined {
  const plain = plainOf(given);
  let best: string | undefined;
  let fewest = Infinity;
  for (const name of names) {
    const wanted = plainOf(name);
    const most = Math.min(mostSlips, slipsAllowed(wanted.length));
    // The comparison takes the product of both lengths, and the length of the given text is not limited.
    if (Math.abs(plain.length - wanted.length) > mostSlips) continue;
    const slips = slipsBetween(plain, wanted);
    if (slips > most || slips >= fewest) continue;
    best = name;
    fewest = slips;
  }
  return best;
}

/** Number of wrong, missing or extra letters; two swapped letters count as one. */
function slipsBetween(plain: string, wanted: string): number {
  if (plain.replace(/y$/, 'ies') === wanted) return 0;
  const slips = distance(plain, wanted);
  return slips === 2 && sorted(plain) === sorted(wanted) ? 1 : slips;
}

function sorted(text: string): string {
  return text.split('').sort().join('');
}

function plainOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** A longer name is not compared word by word, because no known name has as many letters. */
const mostLetters = 200;

function sharingWords(given: string, names: readonly string[]): string | undefined {
  if (given.length > mostLetters) return undefined;
  const words = wordsOf(given);
  let best: string | undefined;
  let largest = 0;
  for (const name of names) {
    const wanted = wordsOf(name);
    const shared = [...wanted].filter((word) => words.has(word)).length;
    const share = shared / (wanted.size + words.size - shared);
    if (share < 0.5 || share <= largest) continue;
    best = name;
    largest = share;
  }
  return best;
}

/** The words of `DELIVERY_RETRY_WINDOW`, `web-shop` and `maxInFlight`, each in its singular. */
function wordsOf(name: string): ReadonlySet<string> {
  const words = name
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return new Set(words.filter((word) => word !== '').map((word) => word.replace(/s$/, '')));
}
