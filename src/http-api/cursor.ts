import { ProblemError } from './problem.ts';

/** The place where a page ends, in letters that need no escape in a URL. */
export function encodeCursor(place: readonly (number | string)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/**
 * @param types of what is in it
 * @throws ProblemError for one that this route has not made
 */
export function decodeCursor<const Types extends readonly ('number' | 'string')[]>(
  cursor: string | undefined,
  ...types: Types
): Place<Types> | undefined {
  if (cursor === undefined) return undefined;
  const place = jsonOf(Buffer.from(cursor, 'base64url').toString());
  const isOurs =
    Array.isArray(place) &&
    place.length === types.length &&
    place.every((each, at) => typeof each === types[at]) &&
    place.every((each) => typeof each !== 'number' || Number.isSafeInteger(each)) &&
    encodeCursor(place) === cursor;
  if (!isOurs)
    throw new ProblemError(
      400,
      'cursor is not one of this list; allowed: what `next` of the page before was.',
    );
  return place as unknown as Place<Types>;
}

type Place<Types extends readonly ('number' | 'string')[]> = {
  readonly [At in keyof Types]: Types[At] extends 'number' ? number : string;
};

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
