import { closest, distance } from 'fastest-levenshtein';
import type { Environment } from '../environment.ts';
import { settingsTable } from './table.ts';

const names = Object.values(settingsTable).flatMap(({ name, secret: isSecret }) =>
  isSecret === true ? [name, `${name}_FILE`] : [name],
);
/** Letters of a name that are wrong, missing or too many. In a short one, two may make another word. */
const mostSlips = (name: string): number => (name.length < 12 ? 1 : 2);

/** A sentence for each variable that is almost named like a setting, which has its default then. */
export function likelyMisspelt(env: Environment): string[] {
  return Object.keys(env).flatMap((given) => {
    const meant = closest(given, names);
    const slips = distance(given, meant);
    if (slips === 0 || slips > mostSlips(meant)) return [];
    return [`${given} is no setting and has no effect; did you mean ${meant}?`];
  });
}
